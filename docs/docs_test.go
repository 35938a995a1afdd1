package docs

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestMenu: each page is in the menu once, a comment with search words is below a heading, and each
// page is put together again as it was.
func TestMenu(t *testing.T) {
	t.Parallel()
	var menu []string
	for _, group := range Menu() {
		menu = append(menu, group.Pages...)
	}
	slices.Sort(menu)
	var names []string
	for _, glob := range []string{"*.md", "*/*.md"} {
		found, err := fs.Glob(files, glob)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".md")
		want, _ := files.ReadFile(name)
		got := ""
		for _, s := range Page(names[i]) {
			got += strings.Repeat("#", s.Level) + " " + s.Heading + "\n"
			if s.search != "" {
				got += "<!-- search: " + s.search + "-->\n"
			}
			if got += s.Text; strings.Contains(s.Text, "<!-- search:") {
				t.Errorf("%s: search words that are not below a heading", name)
			}
		}
		if got != string(want) {
			t.Errorf("%s is not its sections", name)
		}
	}
	if slices.Sort(names); !slices.Equal(menu, names) {
		t.Errorf("in the menu %q, the pages are %q", menu, names)
	}
	if Page("../README") != nil || Page("none") != nil {
		t.Error("a page that is none")
	}
}

// TestFind: the first part is for the person who asks so.
func TestFind(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"everybody gets 429":           "symptoms#everybody-gets-429",
		"why is nobody limited":        "symptoms#nobody-is-limited",
		"unban a client":               "symptoms#a-block-does-not-go-away",
		"Memcached is DOWN":            "symptoms#the-ring-is-lost",
		"wrong client ip":              "symptoms#keys-are-proxies-addresses",
		"blocking countries":           "recipes#scanners-and-countries",
		"out of memory":                "symptoms#memory-grows",
		"state_dir full disk":          "operations#what-survives-a-restart",
		"lua-resty":                    "proxies#openresty-nginx-with-lua",
		"SIGHUP invalid configuration": "symptoms#reload-failed",
		"one tenant complains":         "symptoms#one-customer-gets-429",
		"redis-py pipeline":            "redis#",
		"nodes disagree":               "symptoms#counts-differ-between-nodes",
		"split brain":                  "symptoms#a-pop-is-cut-off",
		"\xff \x00 the of":             "",
		strings.Repeat("zzqx ", 99):    "",
	} {
		got := ""
		if found := Find(query, 1); len(found) > 0 {
			got = found[0].Page + "#" + found[0].Anchor
		}
		if got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	if n := len(Find("limit", 3)); n != 3 {
		t.Errorf("%d parts", n)
	}
}
