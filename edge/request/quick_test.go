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
		path, query := cutTarget(target)
		plain := query == nil && len(path) == len(target) && isNormal(path)
		if got := isPlain(target); got != plain {
			t.Errorf("%q: got %v, want %v", target, got, plain)
		}
		if plain && !bytes.Equal(appendNormal(nil, target), target) {
			t.Errorf("%q becomes %q", target, appendNormal(nil, target))
		}
	})
}

// A host that is taken at a glance is what the whole way makes of it.
func TestPlainHosts(t *testing.T) {
	each("aZ.:[]1 /", 5, func(host []byte) {
		var quick, slow Request
		if got, want := quick.SetHost(host), slow.setOddHost(host); got != want || !bytes.Equal(quick.Host, slow.Host) {
			t.Errorf("%q: got %v %q, want %v %q", host, got, quick.Host, want, slow.Host)
		}
	})
	for c := range 256 {
		var quick, slow Request
		host := []byte{'a', byte(c), 'b'}
		if got, want := quick.SetHost(host), slow.setOddHost(host); got != want || !bytes.Equal(quick.Host, slow.Host) {
			t.Errorf("%q: got %v %q, want %v %q", host, got, quick.Host, want, slow.Host)
		}
	}
}
