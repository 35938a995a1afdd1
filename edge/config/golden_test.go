package config_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with the golden file beside the yaml file at path, or rewrites it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	path = strings.TrimSuffix(path, ".yaml") + ".golden"
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got\n%s\nwant\n%s", path, got, want)
	}
}

func yamlFiles(tb testing.TB, dir string) []string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no files in testdata/%s: %v", dir, err)
	}
	return paths
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestGood holds the effective form of every good file, which must read back as the same. One file
// holds every field; the others hold their own.
func TestGood(t *testing.T) {
	for _, path := range yamlFiles(t, "good") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := config.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			text := roundTrip(t, c)
			if filepath.Base(path) != "full.yaml" {
				text = config.Changed(c)
			}
			golden(t, path, text)
		})
	}
}

// TestBad holds every fault of every bad file, word by word.
func TestBad(t *testing.T) {
	for _, path := range yamlFiles(t, "bad") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := config.Parse(filepath.Base(path), read(t, path))
			var faults config.Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("got %v, want faults", err)
			}
			if !reflect.DeepEqual(c, config.Config{}) {
				t.Errorf("a refused file gave %+v", c)
			}
			golden(t, path, []byte(err.Error()+"\n"))
		})
	}
}

// roundTrip fails unless c, written and read again, is c; it returns the written file.
func roundTrip(tb testing.TB, c config.Config) []byte {
	tb.Helper()
	text, err := c.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	again, err := config.Parse("effective.yaml", text)
	if err != nil {
		tb.Fatalf("%v in\n%s", err, text)
	}
	if c.PolicyText != "" { // the places of policies differ
		second, err := again.Marshal()
		if err != nil || !bytes.Equal(text, second) || !reflect.DeepEqual(c.Rules, again.Rules) {
			tb.Fatalf("%v: written twice:\n%s\nand\n%s", err, text, second)
		}
		return text
	}
	if !reflect.DeepEqual(c, again) {
		tb.Fatalf("%+v became %+v through\n%s", c, again, text)
	}
	return text
}
