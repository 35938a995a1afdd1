package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var testEndpoints = []Endpoint{
	{"GET", "/v1/top", "?rule=&n=", "the heaviest keys"},
	{"GET", "/v1/explain", "?rule=&key=", "everything that decides <one> key now"},
	{"POST", "/v1/mitigations", "", "block or allow a key by hand"},
}

// get asks s for target, as one who has what has the ETag; it answers 404 to what s has not.
func get(s *Site, method, target string, has ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, target, nil), httptest.NewRecorder()
	for _, etag := range has {
		r.Header.Set("If-None-Match", etag)
	}
	if r.URL.Path == "/" {
		s.Page(w, r)
	} else if !s.Asset(w, r) {
		w.WriteHeader(http.StatusNotFound)
	}
	return w
}

// element is a start tag of a page, and the text right after it.
type element struct {
	name, text string
	attrs      map[string]string
}

// elements returns the elements of an HTML page, which must be one that nests.
func elements(t *testing.T, page string) (all []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("the page does not nest: %v", err)
		}
		switch is := token.(type) {
		case xml.StartElement:
			e := element{name: is.Name.Local, attrs: map[string]string{}}
			for _, a := range is.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += string(is)
			}
		}
	}
}

// TestPage holds the page to what its policy allows (nothing inline, nothing from elsewhere), to
// what it loads being there, and to names that fit.
func TestPage(t *testing.T) {
	t.Parallel()
	s := New(testEndpoints)
	inline := checkInline(t, get(s, "GET", "/"))
	all := elements(t, inline.ReplaceAllString(get(s, "GET", "/").Body.String(), ""))
	ids := map[string]bool{}
	for _, e := range all {
		if id := e.attrs["id"]; id != "" {
			if ids[id] {
				t.Errorf("two elements are called %s", id)
			}
			ids[id] = true
		}
		for name, value := range e.attrs {
			checkAttribute(t, s, e.name, name, value)
		}
	}
	for _, e := range all {
		for _, name := range []string{"for", "aria-labelledby", "list"} {
			if to := e.attrs[name]; to != "" && !ids[to] {
				t.Errorf("%s %s=%q names nothing", e.name, name, to)
			}
		}
	}
	for _, script := range modules(t, s) {
		for _, id := range regexp.MustCompile(`byId\('([a-z-]+)'\)`).FindAllStringSubmatch(script,
			-1) {
			if !ids[id[1]] {
				t.Errorf("a module looks for %s, which is not on the page", id[1])
			}
		}
	}
}

// checkInline checks that what is written in the page, one style sheet and one script, is what the
// page's policy names and nothing else. It returns what matches both.
func checkInline(t *testing.T, page *httptest.ResponseRecorder) *regexp.Regexp {
	t.Helper()
	inline := regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`)
	policy := page.Header().Get("Content-Security-Policy")
	want := "default-src 'self'"
	found := inline.FindAllStringSubmatch(page.Body.String(), -1)
	slices.SortFunc(found, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
	for _, of := range found {
		sum := sha256.Sum256([]byte(of[2]))
		want += "; " + of[1] + "-src 'self' 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	if want += "; frame-ancestors 'none'"; len(found) != 2 || policy != want {
		t.Errorf("policy %s, want %s", policy, want)
	}
	return inline
}

func checkAttribute(t *testing.T, s *Site, element, name, value string) {
	t.Helper()
	switch {
	case strings.HasPrefix(name, "on"), name == "style":
		t.Errorf("inline %s of %s", name, element)
	case (name == "src" || name == "href") && strings.HasPrefix(value, "/assets/"):
		if w := get(s, "GET", value); w.Code != http.StatusOK {
			t.Errorf("%s: %d", value, w.Code)
		}
	case name == "src", name == "href" && !strings.HasPrefix(value, "/v1/") &&
		!strings.HasPrefix(value, "#"):
		t.Errorf("%s %s=%q is neither ours nor listed", element, name, value)
	}
}

// version returns what the page of s loads everything from, with a slash at its end.
func version(s *Site) string {
	return regexp.MustCompile(`/assets/[0-9a-f]{16}/`).FindString(get(s, "GET", "/").Body.String())
}

// assets returns what s answers for each file of this directory's assets but the page, by its path
// below them.
func assets(t testing.TB, s *Site) map[string]*httptest.ResponseRecorder {
	t.Helper()
	all, from := map[string]*httptest.ResponseRecorder{}, version(s)
	err := fs.WalkDir(os.DirFS("assets"), ".", func(name string, entry fs.DirEntry,
		err error,
	) error {
		if err != nil || entry.IsDir() || name == "index.html" {
			return err
		}
		if all[name] = get(s, "GET", from+name); all[name].Code != http.StatusOK {
			t.Errorf("%s: %d", name, all[name].Code)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// modules returns the texts of our own scripts, by path.
func modules(t testing.TB, s *Site) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, f := range assets(t, s) {
		if strings.HasPrefix(name, "js/") {
			all[name] = f.Body.String()
		}
	}
	return all
}

// hostile is what would let a key act, a policy fail, or another host be asked.
var hostile = regexp.MustCompile(
	`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\b|new Function|` +
		`setAttribute\('(?:style|on)|srcdoc|https?://|//[a-z]+\.[a-z]+/|\bimport\(|new EventSource|XMLHttpRequest`)

// TestModules checks that our scripts put nothing but text into the page, ask no other host, and
// import what is there.
func TestModules(t *testing.T) {
	t.Parallel()
	s := New(nil)
	scripts := modules(t, s)
	if len(scripts) < 10 {
		t.Fatalf("%d scripts", len(scripts))
	}
	for name, text := range scripts {
		if found := hostile.FindString(text); found != "" {
			t.Errorf("%s: %s", name, found)
		}
		if lines := strings.Count(text, "\n"); lines > 300 {
			t.Errorf("%s has %d lines", name, lines)
		}
		for _, from := range regexp.MustCompile(`from '([^']+)'`).FindAllStringSubmatch(text, -1) {
			if _, ok := scripts[path.Join(path.Dir(name), from[1])]; !ok {
				t.Errorf("%s imports %s, which is not there", name, from[1])
			}
		}
	}
	for name, f := range assets(t, s) {
		if strings.HasSuffix(name, ".css") &&
			regexp.MustCompile(`url\(|@import`).MatchString(f.Body.String()) {
			t.Errorf("%s loads something", name)
		}
	}
}

// TestFoot checks that what can be asked is listed, escaped, and linked where a link makes sense.
func TestFoot(t *testing.T) {
	t.Parallel()
	page := get(New(testEndpoints), "GET", "/").Body.String()
	for _, want := range []string{
		`<td>GET</td><td class="key"><a href="/v1/top">/v1/top</a>?rule=&amp;n=</td><td>the heaviest keys</td>`,
		`<td>GET</td><td class="key">/v1/explain?rule=&amp;key=</td><td>everything that decides &lt;one&gt; key now</td>`,
		`<td>POST</td><td class="key">/v1/mitigations</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("not there: %s", want)
		}
	}
}

// TestCaching checks that the page is asked for anew each time and that a browser keeps what it
// loads, by its content.
func TestCaching(t *testing.T) {
	t.Parallel()
	s := New(testEndpoints)
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml", "": "text/plain; charset=utf-8",
	}
	for name, w := range assets(t, s) {
		h := w.Header()
		is, err := os.ReadFile(filepath.Join("assets", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(w.Body.Bytes(), is) || h.Get("ETag") == "" ||
			h.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %d bytes of %d, %v", name, w.Body.Len(), len(is), h)
		}
		if want := types[path.Ext(name)]; want == "" || h.Get("Content-Type") != want {
			t.Errorf("%s is served as %s, want %s", name, h.Get("Content-Type"), want)
		}
		if w := get(s, "GET", version(s)+name, h.Get("ETag")); w.Code != http.StatusNotModified ||
			w.Body.Len() != 0 {
			t.Errorf("%s again: %d", name, w.Code)
		}
	}
	page := get(s, "GET", "/").Header()
	if page.Get("Cache-Control") != "no-cache" ||
		page.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%v", page)
	}
	if w := get(s, "GET", "/", page.Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("the page again: %d", w.Code)
	}
	if w := get(s, "HEAD", "/"); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d, %d bytes", w.Code, w.Body.Len())
	}
	if other := get(New(nil), "GET", "/").Header().Get("ETag"); other == page.Get("ETag") {
		t.Error("another page has the same tag")
	}
}

// TestAssetNone checks what is not answered: what is not there, another version, and ways out.
func TestAssetNone(t *testing.T) {
	t.Parallel()
	s := New(nil)
	ours := version(s)
	for _, target := range []string{
		"/assets/", "/assets/js/main.js", "/assets/0123456789abcdef/js/main.js", ours, ours + "js/",
		ours + "index.html", ours + "../web.go", ours + "js/../js/main.js",
	} {
		if w := get(s, "GET", target); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
}

// TestVersion checks that any change of content or name makes another version, and that the order
// of files does not.
func TestVersion(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, files := range []map[string][]byte{
		{"a": []byte("1"), "b": []byte("2")},
		{"a": []byte("2"), "b": []byte("1")},
		{"a": []byte("1"), "c": []byte("2")},
		{"a": []byte("1")},
		{"a": []byte("12")},
		{},
	} {
		first := versionOf(files)
		if seen[first] || first != versionOf(files) {
			t.Errorf("%v: %s", files, first)
		}
		seen[first] = true
	}
}

// TestVendored checks that what is not ours came with its licence.
func TestVendored(t *testing.T) {
	t.Parallel()
	var names []string
	for name := range assets(t, New(nil)) {
		if rest, ok := strings.CutPrefix(name, "third_party/uplot/"); ok {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "LICENSE uPlot.iife.min.js uPlot.min.css" {
		t.Errorf("vendored: %s", got)
	}
}
