package request

import (
	"bytes"
	"testing"
)

// each calls use with every text of up to most bytes of alphabet.
func each(alphabet string, most int, use func(text []byte)) {
	var text []byte
	var longer func()
	longer = func() {
		use(text)
		if len(text) == most {
			return
		}
		for i := range len(alphabet) {
			text = append(text, alphabet[i])
			longer()
			text = text[:len(text)-1]
		}
	}
	longer()
}

// What is taken for plain at a glance is what the whole way would leave as it is.
func TestPlainPaths(t *testing.T) {
	each("/.a%?#", 6, func(rest []byte) {
		target := append([]byte("/"), rest...)
		path, query, _ := bytes.Cut(target, []byte{'?'})
		plain := query == nil && len(path) == len(target) && isNormal(path)
		if got := isPlain(target); got != plain {
			t.Errorf("%q: got %v, want %v", target, got, plain)
		}
		if plain && !bytes.Equal(normalOf(target), target) {
			t.Errorf("%q becomes %q", target, normalOf(target))
		}
	})
}

// A host that is taken at a glance is what the whole way makes of it.
func TestPlainHosts(t *testing.T) {
	var quick, slow Request
	compare := func(host []byte) {
		quick.SetHost(host)
		if want := bytes.TrimSuffix(slow.plainHost(host),
			[]byte{'.'}); !bytes.Equal(quick.Host, want) {
			t.Errorf("%q: got %q, want %q", host, quick.Host, want)
		}
	}
	each("aZ.:[]1@", 5, compare)
	for c := range 256 {
		compare([]byte{'a', byte(c), 'b'})
	}
}

func normalOf(path []byte) []byte {
	reading, _ := appendReading(nil, path, 0, false)
	return reading
}
