package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"maps"
	"path"
	"regexp"
	"slices"
)

// The page's one script, its entry point, and the script inside the page.
const (
	bundleName = "js/page.js"
	mainName   = "js/main.js"
	themeName  = "js/theme.js"
)

// moduleWords are what modules have and one script of all has not.
var moduleWords = regexp.MustCompile(`(?m)^(import .*\n|export )`)

// bundle returns the modules of bodies as one script, main.js last: thirty files are as many
// round trips of an empty page. No two modules may declare one name.
func bundle(bodies map[string][]byte) []byte {
	all := [][]byte{bodies["third_party/uplot/uPlot.iife.min.js"]}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		if path.Dir(name) == "js" && name != themeName && name != mainName {
			all = append(all, bodies[name])
		}
	}
	return moduleWords.ReplaceAll(bytes.Join(append(all, bodies[mainName]), []byte("\n")), nil)
}

// styles returns the page's style sheets as one, each after those it builds on.
func styles(bodies map[string][]byte) (all template.CSS) {
	for _, name := range []string{
		"third_party/uplot/uPlot.min", "css/base", "css/page", "css/parts", "css/tables",
	} {
		all += template.CSS(bodies[name+".css"]) //nolint:gosec // built in
	}
	return all
}

// policyOf returns the page's Content-Security-Policy: what the listener's allows, and what
// stands in the page itself.
func policyOf(d pageData) string {
	inline := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return " 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'self'; script-src" + inline(string(d.Theme)) +
		"; style-src" + inline(string(d.Styles)) + "; frame-ancestors 'none'"
}
