// Package web is headgate's dashboard: a page, its style sheets and modules, all of them in the
// binary. It holds no state and asks nobody; the page asks the admin listener that served it, as
// any other client would.
//
//	browser ──GET /──────────► Site.Page      the page, and in its foot what else can be asked
//	        ──GET /assets/…──► Site.Asset     css, js, uPlot
//	        ──GET /v1/events─► the admin listener ──► flags, and every second what the node counts
//	        ──POST, DELETE───► the admin listener
//
// What it serves holds no secret and nothing of the node, so it can be served to whoever asks: a
// page that has to ask for the token must be there first.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed assets
var embedded embed.FS

// contentTypes are by extension. What the system believes of extensions is not asked: browsers run
// no module of another type.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	"":     "text/plain; charset=utf-8", // LICENSE
}

// Endpoint is something that can be asked at the listener, for the list in the page's foot.
type Endpoint struct {
	Method string // GET, …
	Path   string // /v1/top
	Query  string // ?rule=&n=, or empty
	What   string // in a few words
}

// Link reports whether e can be followed as it is: a GET needing no key.
func (e Endpoint) Link() bool {
	return e.Method == http.MethodGet && !strings.Contains(e.Query, "key=")
}

// Site is the page and what it loads. It never changes; its methods are safe for concurrent use.
type Site struct {
	page   file
	policy string          // its Content-Security-Policy
	files  map[string]file // by path below /assets/
	prefix string          // the version of all of them, and a slash
}

// file is something to be served.
type file struct {
	body        []byte
	contentType string
	etag        string
	caching     string
}

// New returns the site, with endpoints listed in the page's foot.
func New(endpoints []Endpoint) *Site {
	bodies := builtIn()
	version := versionOf(bodies)
	s := &Site{files: make(map[string]file, len(bodies)), prefix: version + "/"}
	for name, body := range bodies {
		s.files[s.prefix+name] = file{
			body: body, contentType: contentTypes[path.Ext(name)], etag: `"` + digest(body) + `"`,
			caching: "public, max-age=31536000, immutable", // another content has another path
		}
	}
	d := pageData{
		Assets: "/assets/" + version, Styles: styles(bodies), Endpoints: endpoints,
		Theme: template.JS(bodies[themeName]), //nolint:gosec // built in
	}
	page := render(d)
	s.policy = policyOf(d)
	s.page = file{
		body: page, contentType: "text/html; charset=utf-8", etag: `"` + digest(page) + `"`,
		caching: "no-cache",
	}
	return s
}

// pageData is what the page is made with.
type pageData struct {
	Assets    string // where they are
	Styles    template.CSS
	Theme     template.JS
	Endpoints []Endpoint
}

const pageName = "index.html"

func render(d pageData) []byte {
	var page bytes.Buffer
	t := template.Must(template.ParseFS(embedded, "assets/"+pageName))
	if err := t.Execute(&page, d); err != nil {
		panic("web: the page that is built in: " + err.Error())
	}
	return page.Bytes()
}

// builtIn returns the files that are built in but the page, by their paths below assets, and the
// bundle of the scripts.
var builtIn = sync.OnceValue(func() map[string][]byte {
	bodies := map[string][]byte{}
	err := fs.WalkDir(embedded, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(name) == pageName {
			return err
		}
		bodies[strings.TrimPrefix(name, "assets/")], err = embedded.ReadFile(name)
		return err
	})
	if err != nil {
		panic("web: the files that are built in: " + err.Error())
	}
	bodies[bundleName] = bundle(bodies)
	return bodies
})

// versionOf returns a name that changes with any of bodies: fmt prints maps in the order of keys.
// Modules import each other by relative paths, so all share a version.
func versionOf(bodies map[string][]byte) string { return digest(fmt.Appendf(nil, "%x", bodies)) }

// digest returns a name of body's content.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Page answers the dashboard, under its own Content-Security-Policy.
func (s *Site) Page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", s.policy)
	s.page.serve(w, r)
}

// Asset answers the file the path of r names below /assets/; it reports false, and has answered
// nothing, when there is none.
func (s *Site) Asset(w http.ResponseWriter, r *http.Request) bool {
	f, ok := s.files[strings.TrimPrefix(r.URL.Path, "/assets/")]
	if ok {
		f.serve(w, r)
	}
	return ok
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.caching)
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}
