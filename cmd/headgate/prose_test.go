package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// What the pages may have of words that send a reader back for their meaning, in a thousand words.
var sparse = map[string]struct {
	words []string
	most  float64
}{
	"it, its, that, they, them": {[]string{"it", "its", "that", "they", "them"}, 30},
	"one, ones":                 {[]string{"one", "ones"}, 6},
	"what":                      {[]string{"what"}, 3},
}

const (
	longSentence = 22 // words, which 95 of 100 sentences have at most
	mostSentence = 30
	mostCell     = 40
)

var (
	proseWord   = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9'’-]*`)
	inlineCode  = regexp.MustCompile("`[^`]*`")
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	cellBorder  = regexp.MustCompile(`\|`)
	sentenceEnd = regexp.MustCompile(`[.!?:;](?:\s|$)`)
	listItem    = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
	tableRule   = regexp.MustCompile(`^\|[-| :]+\|$`)
)

// proseOf returns the paragraphs of a page, and the cells of its tables: without code, headings and
// targets of links.
func proseOf(page string) (paragraphs, cells []string) {
	plain := func(text string) string {
		text = inlineCode.ReplaceAllString(strings.ReplaceAll(text, `\|`, "/"), "X")
		return strings.ReplaceAll(linkTarget.ReplaceAllString(text, "]"), "**", "")
	}
	code, open := false, ""
	end := func() {
		if open = strings.TrimSpace(open); open != "" {
			paragraphs = append(paragraphs, open)
		}
		open = ""
	}
	for line := range strings.SplitSeq(page, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
			end()
		case code || strings.HasPrefix(line, "<!--"):
		case line == "" || strings.HasPrefix(line, "#") || tableRule.MatchString(line):
			end()
		case strings.HasPrefix(line, "|"):
			for _, cell := range cellBorder.Split(strings.Trim(plain(line), "|"), -1) {
				cells = append(cells, strings.TrimSpace(cell))
			}
		default:
			if listItem.MatchString(line) {
				end()
			}
			open += line + "\n"
		}
	}
	end()
	for i := range paragraphs {
		paragraphs[i] = plain(paragraphs[i])
	}
	return paragraphs, cells
}

// TestProse holds README and docs/ to plain sentences: short, with nouns in place of pronouns.
func TestProse(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	pages, counts, all := docPages(t), map[string]int{}, 0
	var lengths []int
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if !strings.HasPrefix(name, "docs/") && name != "README.md" {
			continue
		}
		paragraphs, cells := proseOf(pages[name])
		for _, cell := range cells {
			if n := len(proseWord.FindAllString(cell, -1)); n > mostCell {
				t.Errorf("%s: a cell of %d words: %.80s", name, n, cell)
			}
		}
		for _, text := range append(paragraphs, cells...) {
			for _, s := range sentenceEnd.Split(text, -1) {
				words := proseWord.FindAllString(strings.ToLower(s), -1)
				if len(words) == 0 {
					continue
				}
				if lengths = append(lengths, len(words)); len(words) > mostSentence {
					t.Errorf("%s: a sentence of %d words: %.80s", name, len(words), s)
				}
				all += len(words)
				for kind, is := range sparse {
					for _, word := range words {
						if slices.Contains(is.words, word) {
							counts[kind]++
						}
					}
				}
			}
		}
	}
	for kind, is := range sparse {
		figure := float64(counts[kind]) * 1000 / float64(all)
		if t.Logf("%s: %.1f", kind, figure); figure > is.most {
			t.Errorf("%s: %.1f in 1,000 words, more than %.0f", kind, figure, is.most)
		}
	}
	slices.Sort(lengths)
	if n := lengths[len(lengths)*95/100]; n > longSentence || all < 20_000 {
		t.Errorf("of %d words, 95 %% of the sentences have up to %d", all, n)
	}
}
