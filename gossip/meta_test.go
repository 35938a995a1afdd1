package gossip

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/memberlist"
)

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

// sameMeta compares unexported fields too.
var sameMeta = cmp.AllowUnexported(Meta{})

func fullMeta() Meta {
	return Meta{PoP: "lhr", Version: "1.4.0", Wire: 2, Ring: "00112233aabbccdd", Rules: "8899aabbccddeeff", leaving: true}
}

func TestMetaGolden(t *testing.T) {
	b := fullMeta().append(nil)
	golden(t, "meta.golden", b)
	got, err := parseMeta(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullMeta(), got, sameMeta); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestMetaFits(t *testing.T) {
	long := strings.Repeat("x", MaxMetaText)
	m := Meta{PoP: long, Version: long, Wire: 255, Ring: long, Rules: long, leaving: true}
	if got := len(m.append(nil)); got > memberlist.MetaMaxSize {
		t.Errorf("%d bytes, memberlist takes %d and panics beyond", got, memberlist.MetaMaxSize)
	}
	m.Rules += "x"
	if m.check() == nil {
		t.Error("a text that is too long was accepted")
	}
	n := idle(t, nil)
	if n.SetMeta(m) == nil {
		t.Error("SetMeta took a text that is too long")
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
		{"no fields", []byte{metaVersion}, Meta{}, nil},
		{"version of the future", []byte{metaVersion + 1, metaPoP, 1, 'x'}, Meta{}, errMetaVersion},
		{"unknown field", []byte{metaVersion, 200, 3, 1, 2, 3, metaPoP, 1, 'x'}, Meta{PoP: "x"}, nil},
		{"longer field", []byte{metaVersion, metaWire, 2, 7, 9}, Meta{Wire: 7}, nil},
		{"empty field", []byte{metaVersion, metaWire, 0}, Meta{}, nil},
		{"too long a text", append([]byte{metaVersion, metaPoP, 65}, make([]byte, 65)...), Meta{}, nil},
		{"cut in a head", []byte{metaVersion, metaPoP, 1, 'x', metaRing}, Meta{PoP: "x"}, errMetaShort},
		{"cut in a field", []byte{metaVersion, metaPoP, 1, 'x', metaRing, 2, 'y'}, Meta{PoP: "x"}, errMetaShort},
	} {
		got, err := parseMeta(c.in)
		if diff := cmp.Diff(c.want, got, sameMeta); diff != "" || err != c.err { //nolint:errorlint // these are not wrapped
			t.Errorf("%s: %v, %v; want %v, %v", c.what, got, err, c.want, c.err)
		}
	}
}

func FuzzMeta(f *testing.F) {
	f.Add(fullMeta().append(nil))
	f.Add([]byte{metaVersion, 200, 3, 1, 2, 3, metaPoP, 1, 'x'})
	f.Add([]byte{metaVersion, metaRing, 2, 'y'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMeta(b)
		if err != nil {
			return
		}
		again, err := parseMeta(m.append(nil))
		if diff := cmp.Diff(m, again, sameMeta); diff != "" || err != nil {
			t.Errorf("written and read again: %v\n%s", err, diff)
		}
	})
}
