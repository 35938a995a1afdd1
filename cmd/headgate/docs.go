package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/docs"
	"github.com/spf13/cobra"
)

const docsLong = `List the pages of the documentation, print a page or the part below a heading, or
find the parts about some words. Every page is in the program: no daemon and no network is asked.
Exit code 1 when nothing is about the words.`

// docsCommand returns `headgate docs`.
func docsCommand(a *cli.App) *cobra.Command {
	n, asJSON := 0, false
	cmd := &cobra.Command{
		Use:   "docs [PAGE[#HEADING] | WORDS...]",
		Short: "Read the documentation, or search it",
		Long:  docsLong,
		Example: `  headgate docs everybody gets 429
  headgate docs symptoms#everybody-gets-429
  headgate docs`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, words []string) error {
			if n < 1 {
				return fmt.Errorf("docs: -n must be at least 1, not %d", n)
			}
			query := strings.Join(words, " ")
			page, heading, _ := strings.Cut(query, "#")
			page = strings.TrimSuffix(strings.TrimPrefix(page, "docs/"), ".md")
			if sections := docs.Page(page); sections != nil && !asJSON {
				return printPage(a, sections, heading)
			}
			if query == "" && !asJSON {
				printMenu(a)
				return nil
			}
			return findDocs(a, query, n, asJSON)
		},
	}
	cmd.Flags().IntVarP(&n, "n", "n", 5, "find at most `N` parts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printMenu(a *cli.App) {
	for _, group := range docs.Menu() {
		fmt.Fprintf(a.Stdout, "%s\n", group.Name)
		for _, page := range group.Pages {
			fmt.Fprintf(a.Stdout, "  %-18s %s\n", page, docs.Page(page)[0].Title)
		}
	}
}

// printPage prints the section with the anchor heading, and those below; "" is the whole page.
func printPage(a *cli.App, sections []docs.Section, heading string) error {
	at := slices.IndexFunc(sections, func(s docs.Section) bool { return s.Anchor == heading })
	if at < 0 {
		return errors.New("docs: no heading " + cli.Quote(heading) + " in that page")
	}
	for i, s := range sections[at:] {
		if i > 0 && s.Level <= sections[at].Level {
			break
		}
		fmt.Fprintf(a.Stdout, "%s %s\n%s", strings.Repeat("#", s.Level), s.Heading, s.Text)
	}
	return nil
}

// docsFound is the output of `headgate docs WORDS --json`.
type docsFound struct {
	Query   string       `json:"query"`
	Results []docsResult `json:"results"`
}

type docsResult struct {
	Page    string `json:"page"`
	Heading string `json:"heading"`
	Anchor  string `json:"anchor"`
	Excerpt string `json:"excerpt"`
}

func findDocs(a *cli.App, query string, n int, asJSON bool) error {
	is := docsFound{query, []docsResult{}}
	for _, f := range docs.Find(query, n) {
		is.Results = append(is.Results, docsResult{f.Page, f.Heading, f.Anchor, f.Excerpt})
	}
	if asJSON {
		if err := cli.WriteJSON(a.Stdout, is); err != nil {
			return err
		}
	}
	if len(is.Results) == 0 {
		fmt.Fprintf(a.Stderr, "no page is about %s; the pages: headgate docs\n", cli.Quote(query))
		return cli.ErrNo
	}
	for _, r := range is.Results {
		if at := strings.TrimSuffix(r.Page+"#"+r.Anchor, "#"); !asJSON {
			fmt.Fprintf(a.Stdout, "%s: %s\n  %s\n  headgate docs %s\n", r.Page, r.Heading,
				r.Excerpt, at)
		}
	}
	return nil
}
