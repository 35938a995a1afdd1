package web

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// colour is red, green and blue, linear, from 0 to 1.
type colour [3]float64

// palettes returns the colours of base.css by name: of the light theme and of the dark one.
func palettes(t *testing.T) [2]map[string]colour {
	t.Helper()
	s := New(nil)
	css := get(s, "GET", version(s)+"css/base.css").Body.String()
	if found := regexp.MustCompile(`--[a-z0-9-]+: (?:#|rgb)[^;]*;`).FindString(css); found != "" {
		t.Errorf("not of both themes: %s", found)
	}
	light, dark := map[string]colour{}, map[string]colour{}
	for _, c := range regexp.MustCompile(
		`--([a-z0-9-]+): light-dark\(#([0-9a-f]{3,6}), #([0-9a-f]{3,6})\);`).FindAllStringSubmatch(
		css, -1) {
		if _, twice := light[c[1]]; twice {
			t.Errorf("%s is there twice", c[1])
		}
		light[c[1]], dark[c[1]] = parseColour(t, c[2]), parseColour(t, c[3])
	}
	if len(light) < 10 {
		t.Fatalf("%d colours", len(light))
	}
	return [2]map[string]colour{light, dark}
}

func parseColour(t *testing.T, hex string) (c colour) {
	t.Helper()
	if len(hex) == 3 {
		hex = fmt.Sprintf("%c%c%c%c%c%c", hex[0], hex[0], hex[1], hex[1], hex[2], hex[2])
	}
	for n := range c {
		v, err := strconv.ParseUint(hex[2*n:2*n+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c[n] = linear(float64(v) / 255)
	}
	return c
}

// linear undoes the curve of sRGB.
func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// luminance and contrast are those of WCAG 2.
func (c colour) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

func contrast(a, b colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestContrast holds every colour that text has to 4.5 to 1 on everything it stands on (WCAG AA).
func TestContrast(t *testing.T) {
	t.Parallel()
	for n, p := range palettes(t) {
		for _, text := range []string{"ink", "ink-2", "ink-3", "accent", "in", "out"} {
			for _, on := range []string{"ground", "surface", "sunk"} {
				if got := contrast(p[text], p[on]); got < 4.5 {
					t.Errorf("palette %d: %s on %s has %.2f to 1", n, text, on, got)
				}
			}
		}
		if got := contrast(p["accent-ink"], p["accent"]); got < 4.5 {
			t.Errorf("palette %d: the text of a button has %.2f to 1", n, got)
		}
	}
}

// blindness is how the kinds of colour blindness see linear colours, after Machado, Oliveira and
// Fernandes (2009).
var blindness = map[string][3][3]float64{
	"protanopia": {
		{0.152286, 1.052583, -0.204868},
		{0.114503, 0.786281, 0.099216},
		{-0.003882, -0.048116, 1.051998},
	},
	"deuteranopia": {
		{0.367322, 0.860646, -0.227968},
		{0.280085, 0.672501, 0.047413},
		{-0.011820, 0.042940, 0.968881},
	},
	"tritanopia": {
		{1.255528, -0.076749, -0.178779},
		{-0.078411, 0.930809, 0.147602},
		{0.004733, 0.691367, 0.303900},
	},
}

// TestColourBlind checks that what was admitted and what was refused are told apart by those who
// see fewer colours: at least a quarter of the way from black to white apart, in sRGB.
func TestColourBlind(t *testing.T) {
	t.Parallel()
	for n, p := range palettes(t) {
		for kind, m := range blindness {
			if got := distance(seen(m, p["in"]), seen(m, p["out"])); got < 0.25*math.Sqrt(3) {
				t.Errorf("palette %d, %s: %.2f apart", n, kind, got)
			}
		}
	}
}

func seen(m [3][3]float64, c colour) (s colour) {
	for row := range m {
		s[row] = min(1, max(0, m[row][0]*c[0]+m[row][1]*c[1]+m[row][2]*c[2]))
	}
	return s
}

// distance is how far apart colours are once the curve of sRGB is on them again.
func distance(a, b colour) (d float64) {
	for n := range a {
		x := math.Pow(a[n], 1/2.2) - math.Pow(b[n], 1/2.2)
		d += x * x
	}
	return math.Sqrt(d)
}
