// Package docs holds the pages of the documentation, and finds the sections about some words.
//
//	*.md ──► sections ──Find: words, stems, synonyms──► the best, by BM25
package docs

import (
	"embed"
	"fmt"
	"strings"
	"unicode"
)

//go:embed *.md migrate/*.md decisions/*.md
var files embed.FS

// OpenAPI describes the HTTP interface, in OpenAPI 3.1. Made from the routes; not to be changed.
//
//go:embed openapi.json
var OpenAPI []byte

// Group is a part of the menu.
type Group struct {
	Name  string
	Pages []string
}

// Menu has each page once, in the order in which people need pages.
func Menu() []Group {
	return []Group{
		{"Getting started", []string{
			"getting-started", "install", "demo", "proxies", "proxies-rule", "clients", "redis",
			"go",
		}},
		{"How to", []string{
			"recipes", "choosing-a-limit", "policies", "customers", "surge", "xds", "bridges",
			"sizing", "upgrading", "backup", "slo",
			"migrate/nginx", "migrate/haproxy", "migrate/envoy-ratelimit", "migrate/gubernator",
			"migrate/fail2ban", "migrate/express-rate-limit",
		}},
		{"By symptom", []string{"symptoms", "who-is-denied", "faq"}},
		{"Reference", []string{
			"configuration", "kinds-of-limits", "protocol", "operations", "security", "glossary",
		}},
		{"Explanation", []string{
			"pop", "global", "accuracy", "design", "threat-model", "comparison", "adding",
			"releasing",
		}},
		{"Decisions", []string{
			"decisions/0001-sketch-suspects-slot-convicts",
			"decisions/0002-maphash-and-xxhash",
			"decisions/0003-no-blocked-sketch-no-batches",
			"decisions/0004-owners-and-records",
			"decisions/0005-no-hints",
			"decisions/0006-stream-puller-no-epoll",
			"decisions/0007-no-http-library-at-the-door",
			"decisions/0008-two-paths-one-judgement",
			"decisions/0009-own-protocols",
			"decisions/0010-modules-without-a-workspace",
			"decisions/0011-refunds-outside-the-packed-word",
			"decisions/0012-the-race-pass-is-a-list",
			"decisions/0013-one-budget-for-all-doors",
			"decisions/0014-rates-without-leaps",
			"decisions/0015-a-common-clock",
			"decisions/0016-what-if-stays",
			"decisions/0017-two-pools-later",
		}},
	}
}

// Section is a heading of a page with the text below it, up to the next heading.
type Section struct {
	Page, Title     string // the file without .md, and its first heading
	Heading, Anchor string // of the first section: Title, and ""
	Level           int    // of the heading, from 1
	Text            string // Markdown, without the heading
	search          string // of a comment below the heading
}

// Page returns the sections of a page; nil: there is none.
func Page(name string) (all []Section) {
	text, err := files.ReadFile(name + ".md")
	if err != nil {
		return nil
	}
	code, seen := false, map[string]int{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		heading := strings.TrimSpace(strings.TrimLeft(line, "#"))
		switch {
		case len(all) == 0:
			all = append(all, Section{Page: name, Title: heading, Heading: heading, Level: 1})
			continue
		case !code && strings.HasPrefix(line, "##"):
			all = append(all, Section{
				Page: name, Title: all[0].Title, Heading: heading, Anchor: anchor(heading, seen),
				Level: strings.IndexFunc(line, func(r rune) bool { return r != '#' }),
			})
			continue
		}
		s := &all[len(all)-1]
		if words, ok := strings.CutPrefix(line, "<!-- search: "); ok && s.Text == "" {
			s.search = strings.TrimSuffix(strings.TrimSpace(words), "-->")
			continue
		}
		s.Text += line
	}
	return all
}

// anchor returns the name of a heading in a link, as GitHub makes it; seen has those of the page.
func anchor(heading string, seen map[string]int) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	n := seen[name]
	if seen[name]++; n > 0 {
		return fmt.Sprintf("%s-%d", name, n)
	}
	return name
}
