package request_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/request"
)

func TestSetTarget(t *testing.T) {
	cases := []struct{ target, path, query string }{
		{"/", "/", ""},
		{"/login", "/login", ""},
		{"/login?next=/a#b", "/login", "next=/a#b"},
		{"/a#b?c", "/a", "c"},
		{"//a///b//", "/a/b/", ""},
		{"/a/./b/../c", "/a/c", ""},
		{"/a/b/..", "/a/", ""},
		{"/a/b/.", "/a/b/", ""},
		{"/..", "/", ""},
		{"/../../x", "/x", ""},
		{"/a/..//../b", "/b", ""},
		{"/%61dmin/%2e%2E/%7Ex", "/~x", ""},
		{"/a%2fb", "/a%2Fb", ""},
		{"/%c3%a9", "/é", ""},
		{"/%2561", "/%2561", ""},
		{"/%", "/%", ""},
		{"/%4", "/%4", ""},
		{"/%zz", "/%zz", ""},
		{"/...", "/...", ""},
		{"/.a/..b", "/.a/..b", ""},
		{"/a/%2e%2e%2fb", "/a/..%2Fb", ""},
		{"http://example.com/a/../b?c", "/b", "c"},
		{"http://example.com", "/", ""},
		{"", "/", ""},
		{"?a", "/", "a"},
		{"#a", "/", ""},
		{"login", "/login", ""},
		{"a//b/../c?d", "/a/c", "d"},
		{"./../x", "/x", ""},
		{"example.com:443", "/example.com:443", ""},
		{"http:///a", "/a", ""},
		{"://x", "/:/x", ""},
		{"1http://x/", "/1http:/x/", ""},
		{"a/http://x", "/a/http:/x", ""},
		{"*", "*", ""},
		{"*?a", "/*", "a"},
		{"\x01\xff", "/\x01\xff", ""},
		{"http://example.com?c", "/", "c"},
	}
	r := new(request.Request)
	for _, c := range cases {
		r.Reset(nil)
		r.SetTarget([]byte(c.target), new(request.Clients))
		if string(r.Path) != c.path || string(r.Query) != c.query || r.Unfit != 0 {
			t.Errorf("%s: got %q and %q, want %q and %q", c.target, r.Path,
				r.Query, c.path, c.query)
		}
	}
	if r.SetTarget(bytes.Repeat([]byte("/"), request.MaxTarget+1),
		new(request.Clients)); r.Unfit != request.UnfitTarget {
		t.Error("a target above the bound is fit")
	}
	if r.SetTarget([]byte("//a/%2e%2e?b"), &request.Clients{Raw: true}); string(
		r.Path) != "//a/%2e%2e" {
		t.Errorf("raw: got %q", r.Path)
	}
}

// A normal path stays as it is, and means what the path meant.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"/", "/a/../b//c/%2e%2E/%2f%c3", "http://h/a?b#c", "/%", "/a/..", "/.", "*", "/%25%32%65"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, target []byte) {
		before := bytes.Clone(target)
		r, again := new(request.Request), new(request.Request)
		r.Reset(nil)
		again.Reset(nil)
		r.SetTarget(target, new(request.Clients))
		if !bytes.Equal(before, target) {
			t.Fatalf("the target became %q", target)
		}
		path := string(r.Path)
		if path != "*" && (path[0] != '/' || strings.Contains(path, "//") ||
			strings.Contains(path+"/", "/../") || strings.Contains(path+"/", "/./")) {
			t.Fatalf("%q is not normal", path)
		}
		if again.SetTarget(r.Path, new(request.Clients)); path != string(again.Path) &&
			!strings.ContainsAny(path, "?#") {
			t.Fatalf("%q became %q", path, again.Path)
		}
	})
}

func TestSetHost(t *testing.T) {
	r := new(request.Request)
	for host, want := range map[string]string{
		"": "", "example.com": "example.com", "EXAMPLE.com:8080": "example.com",
		"example.com.":    "example.com",
		"example.com.:80": "example.com", "192.0.2.1:80": "192.0.2.1",
		"[2001:DB8::1]:443": "[2001:db8::1]", "[::1]": "[::1]", "a:": "a",
		"user:pw@A:80": "a", "a@b@c": "c", "a:b": "a", "a:99999": "a", "[abc": "[abc",
		"[::1]x:80": "[::1]x", "a b": "a b",
		"a/b?c#\x00": "a/b?c#\x00", "..": ".", "@": "", strings.Repeat("a", 256): "",
		strings.Repeat("A", 255) + ".:80": strings.Repeat("a", 255),
	} {
		r.Reset(nil)
		if r.SetHost([]byte(host)); string(r.Host) != want {
			t.Errorf("%q: got %q, want %q", host, r.Host, want)
		}
	}
}

// The host of an absolute target holds, whichever of the two is set first.
func TestHostOfTarget(t *testing.T) {
	r, c := new(request.Request), new(request.Clients)
	for target, want := range map[string]string{
		"http://B.example:80/a": "b.example", "x://u@b.example?q": "b.example", "/a": "a.example", "http:///a": "a.example",
		"http://@/a": "a.example", "http://:80": "a.example", "/http://b.example": "a.example",
	} {
		r.Reset(nil)
		r.SetHost([]byte("a.example"))
		if r.SetTarget([]byte(target), c); string(r.Host) != want {
			t.Errorf("%s: got %q, want %q", target, r.Host, want)
		}
		r.Reset(nil)
		r.SetTarget([]byte(target), c)
		if r.SetHost([]byte("a.example")); string(r.Host) != want {
			t.Errorf("%s first: got %q, want %q", target, r.Host, want)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, seed := range []string{"example.com:80", "[::1]:1", "A.b.", "::", "[", "a@b:c@d"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, host []byte) {
		r := new(request.Request)
		r.Reset(nil)
		if r.SetHost(host); len(r.Host) > 255 || bytes.ContainsAny(r.Host, "ABCXYZ@") {
			t.Fatalf("%q became %q", host, r.Host)
		}
	})
}

func TestParams(t *testing.T) {
	r := new(request.Request)
	r.Reset(nil)
	r.SetTarget([]byte("/?a=1&b=%41+b&a=2&c&&=x&%64=4&e=%4&f=1=2#h=5#&i=6"), new(request.Clients))
	for name, want := range map[string]string{
		"a": "1,2", "b": "A b", "c": "", "d": "4", "e": "%4",
		"f": "1=2", "h": "5", "i": "6", "g": "none",
	} {
		var got []string
		for value, next := r.Param(name, 0); next >= 0; value, next = r.Param(name, next) {
			got = append(got, string(value))
		}
		if got == nil {
			got = []string{"none"}
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	r.Reset(nil)
	r.SetTarget([]byte("/?"+strings.Repeat("x=1&", request.MaxParams)+"y=1"), new(request.Clients))
	if _, next := r.Param("y", 0); next >= 0 {
		t.Error("a parameter past the bound is looked at")
	}
}

// Parameters are what net/url reads, where it can read them.
func FuzzParams(f *testing.F) {
	for _, seed := range []string{"a=1&b=2", "a=%41+&a", "=", "%", "a=%zz&b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if strings.ContainsAny(query, "#;") || strings.Count(query, "&") >= request.MaxParams {
			return
		}
		want, err := url.ParseQuery(query)
		r := new(request.Request)
		r.Reset(nil)
		r.SetTarget([]byte("/?"+query), new(request.Clients))
		if err != nil {
			r.Param("a", 0)
			return
		}
		for name, values := range want {
			at := 0
			for _, value := range values {
				got, next := r.Param(name, at)
				if next < 0 || string(got) != value {
					t.Fatalf("%q of %q: got %q, want %q", name, query, got, value)
				}
				at = next
			}
			if _, next := r.Param(name, at); next >= 0 {
				t.Fatalf("%q of %q has one more", name, query)
			}
		}
	})
}

func TestCookies(t *testing.T) {
	var names request.Names
	names.Add("Cookie")
	r := new(request.Request)
	r.Reset(&names)
	r.AddHeader([]byte("cookie"), []byte(`a=1; b="two"; a=3 ;broken; c=`))
	r.AddHeader([]byte("COOKIE"), []byte(`d=4=4`))
	for name, want := range map[string]string{"a": "1", "b": "two", "c": "", "d": "4=4"} {
		if got, next := r.Cookie(name, 0); next < 0 || string(got) != want {
			t.Errorf("%s: got %q, %d", name, got, next)
		}
	}
	_, at := r.Cookie("a", 0)
	if got, next := r.Cookie("a", at); string(got) != "3" || next < 0 {
		t.Errorf("the second a: got %q, %d", got, next)
	}
	if _, next := r.Cookie("broken", 0); next >= 0 {
		t.Error("a cookie without = is one")
	}
}

func FuzzCookies(f *testing.F) {
	f.Add(`a=1; b="2"`)
	f.Add(`=;a=;"`)
	f.Fuzz(func(t *testing.T, header string) {
		var names request.Names
		names.Add("cookie")
		r := new(request.Request)
		r.Reset(&names)
		r.AddHeader([]byte("Cookie"), []byte(header))
		if value, next := r.Cookie("a", 0); next >= 0 && !strings.Contains(header, string(value)) {
			t.Fatalf("%q holds %q", header, value)
		}
	})
}

func TestNames(t *testing.T) {
	var names request.Names
	for i := range request.MaxNames {
		name := "X-Name-" + string(rune('a'+i%26)) + strings.Repeat("z", i/26)
		if at, ok := names.Add(name); !ok || at != i {
			t.Fatalf("%s: %d, %v", name, at, ok)
		}
	}
	for i, name := range names.List() {
		if got := names.Index([]byte(strings.ToUpper(name))); got != i {
			t.Errorf("%s: %d", name, got)
		}
	}
	if at, ok := names.Add("x-name-A"); !ok || at != 0 {
		t.Errorf("a name that is there: %d, %v", at, ok)
	}
	if _, ok := names.Add("one-more"); ok {
		t.Error("a name past the bound is taken")
	}
	if names.Index([]byte("x-nothing")) >= 0 || names.Index(nil) >= 0 {
		t.Error("an unknown name has a number")
	}
}
