package docs

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Weights of a word by its place, and the two constants of BM25 (Robertson and Zaragoza, 2009).
const (
	inTitle, inHeading = 4, 3
	saturation, length = 1.2, 0.75
)

// synonyms are words of other tools for those of these pages.
var synonyms = map[string]string{
	"429": "denied", "403": "denied", "503": "denied", "allowlist": "allow", "whitelist": "allow",
	"ban": "block", "blacklist": "block", "blocklist": "block", "unban": "unblock",
	"forgive": "unblock", "dry": "shadow", "quota": "limit", "throttle": "limit",
	"slow": "latency", "ddos": "surge", "attack": "surge", "crash": "restart", "oom": "memory",
	"ram": "memory", "tenant": "customer", "datacenter": "pop",
}

// Found is a section about some words.
type Found struct {
	Section
	Excerpt string // the first line with one of the words
}

// Find returns at most n sections about the words of query, best first.
func Find(query string, n int) (best []Found) {
	asked, all := askedFor(query), sections()
	in, total := map[string]float64{}, 0.0 // sections with a word, and words of texts
	for i := range all {
		for word := range all[i].count {
			in[word]++
		}
		total += all[i].size
	}
	sections := float64(len(all))
	for i := range all {
		s := &all[i]
		for word, weight := range asked {
			rare := math.Log(1 + (sections-in[word]+0.5)/(in[word]+0.5))
			s.score += weight * rare * s.count[word] * (1 + saturation) /
				(s.count[word] + saturation*(1-length+length*s.size*sections/total))
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	for _, s := range all[:min(n, len(all))] {
		if s.score > 0 {
			best = append(best, Found{s.Section, s.excerpt(asked)})
		}
	}
	return best
}

// askedFor returns the stems of the words of query with a weight of 1, and of their synonyms.
func askedFor(query string) map[string]float64 {
	asked := map[string]float64{}
	for _, word := range wordsOf(query) {
		asked[word] = 1
	}
	for word, other := range synonyms {
		if asked[stem(word)] == 1 && asked[stem(other)] == 0 {
			asked[stem(other)] = 0.5
		}
	}
	return asked
}

// scored is a section with its words: how often each is there, by its place, and how many the text
// has.
type scored struct {
	Section
	count       map[string]float64
	size, score float64
}

// sections returns those of all pages, in the order of the menu.
func sections() (all []scored) {
	for _, group := range Menu() {
		for _, page := range group.Pages {
			for _, s := range Page(page) {
				is := scored{Section: s, count: map[string]float64{}}
				for _, word := range wordsOf(s.Title) {
					is.count[word] += inTitle
				}
				for _, word := range wordsOf(s.Heading + " " + s.search) {
					is.count[word] += inHeading
				}
				for _, word := range wordsOf(s.Text) {
					is.count[word]++
					is.size++
				}
				all = append(all, is)
			}
		}
	}
	return all
}

// excerpt returns the first line of s with a word asked for, else the first line.
func (s *Section) excerpt(asked map[string]float64) (line string) {
	for is := range strings.Lines(s.Text) {
		is = strings.TrimSpace(strings.Trim(strings.TrimSpace(is), "|"))
		if is == "" || strings.HasPrefix(is, "```") {
			continue
		}
		found := slices.ContainsFunc(wordsOf(is), func(w string) bool { return asked[w] > 0 })
		if line == "" || found {
			line = is
		}
		if found {
			break
		}
	}
	const most = 160
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most-1]) + "…"
	}
	return line
}

// stops are words too common to find a section by.
var stops = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "as": true, "at": true, "be": true, "by": true,
	"can": true, "do": true, "does": true, "for": true, "from": true, "get": true, "how": true,
	"i": true, "in": true, "is": true, "it": true, "my": true, "not": true, "of": true, "on": true,
	"or": true, "that": true, "the": true, "to": true, "what": true, "when": true, "which": true,
	"who": true, "why": true, "with": true,
}

// wordsOf returns the stems of the words of text.
func wordsOf(text string) (all []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if !stops[word] {
			all = append(all, stem(word))
		}
	}
	return all
}

// stem drops endings of an English word, such as -s and -ing.
func stem(word string) string {
	for _, end := range [][2]string{
		{"ies", "y"}, {"ied", "y"}, {"ing", ""}, {"ed", ""}, {"ss", "ss"}, {"s", ""},
	} {
		if root, ok := strings.CutSuffix(word, end[0]); ok && len(root) > 2 {
			word = root + end[1]
			break
		}
	}
	if len(word) > 4 && word[len(word)-1] == word[len(word)-2] { // blocked, dropping
		word = word[:len(word)-1]
	}
	return strings.TrimSuffix(word, "e")
}
