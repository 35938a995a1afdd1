package gossip

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxMeta is the room that memberlist has for metadata, bytes.
const maxMeta = 512

// The first byte of metadata, and the types of its fields on the wire, as released.
const released, fieldPoP, fieldWire, fieldRing = 1, 1, 3, 4

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares b with testdata/name, which holds it in hexadecimal. Released encodings must stay
// readable for ever.
func golden(t *testing.T, name string, b []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(hex.EncodeToString(b)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(b); got != strings.TrimSpace(string(text)) {
		t.Errorf("%s: %s, want %s", name, got, text)
	}
}

func fullMeta() Meta {
	return Meta{
		PoP: "lhr", Version: "1.4.0", Wire: 2, Ring: "00112233aabbccdd",
		Rules: "8899aabbccddeeff", Leaving: true,
	}
}

func TestMetaGolden(t *testing.T) {
	b := fullMeta().Append(nil)
	golden(t, "meta.golden", b)
	got, err := parseMeta(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullMeta(), got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestMetaFits(t *testing.T) {
	long := strings.Repeat("x", MaxMetaText)
	m := Meta{
		PoP: long, Version: long, Wire: 255, Ring: long, Rules: long,
		Admin: long, Leaving: true, Limits: true,
	}
	if got := len(m.Append(nil)); got > maxMeta {
		t.Errorf("%d bytes, memberlist takes %d and panics beyond", got, maxMeta)
	}
	m.Rules += "x"
	if m.Check() == nil {
		t.Error("a text that is too long was accepted")
	}
}

func TestMetaOfOthers(t *testing.T) {
	for _, c := range []struct {
		what string
		in   []byte
		want Meta
		err  error
	}{
		{"empty", nil, Meta{}, errMetaVersion},
		{"no fields", []byte{released}, Meta{}, nil},
		{
			"version of the future",
			[]byte{version + 1, fieldPoP, 1, 'x'},
			Meta{},
			errMetaVersion,
		},
		{
			"unknown field",
			[]byte{released, 200, 3, 1, 2, 3, fieldPoP, 1, 'x'},
			Meta{PoP: "x"},
			nil,
		},
		{"longer field", []byte{released, fieldWire, 2, 7, 9}, Meta{Wire: 7}, nil},
		{"admin", Meta{Admin: ":4292"}.Append(nil), Meta{Admin: ":4292"}, nil},
		{"limits", Meta{Limits: true}.Append(nil), Meta{Limits: true}, nil},
		{"empty field", []byte{released, fieldWire, 0}, Meta{}, nil},
		{
			"too long a text", append([]byte{released, fieldPoP, 65}, make([]byte, 65)...),
			Meta{},
			nil,
		},
		{
			"cut in a head",
			[]byte{released, fieldPoP, 1, 'x', fieldRing},
			Meta{PoP: "x"},
			errMetaShort,
		},
		{
			"cut in a field",
			[]byte{released, fieldPoP, 1, 'x', fieldRing, 2, 'y'},
			Meta{PoP: "x"},
			errMetaShort,
		},
	} {
		got, err := parseMeta(c.in)
		//nolint:errorlint // these are not wrapped
		if diff := cmp.Diff(c.want, got); diff != "" || err != c.err {
			t.Errorf("%s: %v, %v; want %v, %v", c.what, got, err, c.want, c.err)
		}
	}
}

func FuzzMeta(f *testing.F) {
	f.Add(fullMeta().Append(nil))
	f.Add([]byte{released, 200, 3, 1, 2, 3, fieldPoP, 1, 'x'})
	f.Add([]byte{released, fieldRing, 2, 'y'})
	f.Add(Meta{Admin: "192.0.2.1:4292"}.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMeta(b)
		if err != nil {
			return
		}
		again, err := parseMeta(m.Append(nil))
		if diff := cmp.Diff(m, again); diff != "" || err != nil {
			t.Errorf("written and read again: %v\n%s", err, diff)
		}
	})
}
