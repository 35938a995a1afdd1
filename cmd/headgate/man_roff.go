package main

import (
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/spf13/cobra"
)

// roff is a manual page being written, in the language of man(7).
type roff struct {
	strings.Builder
	began bool // a section, of which there is nothing yet
}

func newRoff(name string, section int, date string) *roff {
	p := &roff{}
	p.line(fmt.Sprintf(`.TH %s %d "%s" "headgate %s" "headgate"`, strings.ToUpper(roffText(name)),
		section, date, roffText(cli.BuildVersion())))
	p.line(".nh") // names of flags and files are not to be broken
	return p
}

func (p *roff) line(text string) {
	p.began = strings.HasPrefix(text, ".SH ")
	fmt.Fprintln(&p.Builder, text)
}

func (p *roff) section(name string) { p.line(".SH " + name) }

// prose writes paragraphs. Lines indented are shown unchanged.
func (p *roff) prose(text string) {
	var shown []string
	flush := func() {
		if len(shown) > 0 {
			p.verbatim(strings.Join(shown, "\n"))
			shown = nil
		}
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "  ") {
			shown = append(shown, line)
			continue
		}
		flush()
		if line == "" {
			p.line(".PP")
			continue
		}
		p.line(roffText(line))
	}
	flush()
}

// styled writes paragraphs, of a Section, with code in bold.
func (p *roff) styled(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		switch {
		case paragraph == "":
		case strings.HasPrefix(paragraph, "  "):
			p.verbatim(paragraph)
		case i > 0:
			p.line(".PP\n" + roffStyled(paragraph))
		default:
			p.line(roffStyled(paragraph))
		}
	}
}

// verbatim shows text unchanged.
func (p *roff) verbatim(text string) {
	if !p.began {
		p.line(".PP")
	}
	p.line(".EX")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		p.line(roffText(line))
	}
	p.line(".EE")
}

// terms writes a section of names, each with a meaning.
func (p *roff) terms(section string, entries [][2]string) {
	p.section(section)
	for _, e := range entries {
		p.line(".TP\n.B " + roffText(e[0]))
		p.line(roffText(e[1]))
	}
}

// commands lists the commands below cmd, by the groups of help.
func (p *roff) commands(cmd *cobra.Command) {
	if len(documented(cmd)) == 1 {
		return
	}
	p.section("COMMANDS")
	for _, g := range cmd.Groups() {
		p.line(".SS " + roffText(strings.TrimSuffix(g.Title, ":")))
		p.group(cmd, g.ID)
	}
	p.group(cmd, "")
}

// group lists the commands below cmd in a group, or in none.
func (p *roff) group(cmd *cobra.Command, id string) {
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() && below.GroupID == id {
			p.line(".TP\n.B " + roffText(below.Name()))
			p.line(roffText(below.Short))
		}
	}
}

// options lists cmd's flags, as help does.
func (p *roff) options(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag() // cobra adds it only when it runs
	p.section("OPTIONS")
	for line := range strings.Lines(cmd.LocalFlags().FlagUsages()) {
		flag, means, _ := strings.Cut(strings.TrimSpace(line), "   ")
		p.line(".TP\n.B " + roffText(flag))
		p.line(roffText(strings.TrimSpace(means)))
	}
}

// seeAlso names the pages around cmd's.
func (p *roff) seeAlso(cmd *cobra.Command) {
	p.section("SEE ALSO")
	around := documented(cmd)[1:]
	if cmd.HasParent() {
		around = append([]*cobra.Command{cmd.Parent()}, around...)
	}
	for _, c := range around {
		p.line(".BR " + roffText(pageName(c)) + " (1),")
	}
	p.line(".BR headgate.yaml (5)")
}

// roffStyled returns a line of text with the parts between backquotes in bold.
func roffStyled(text string) string {
	parts := strings.Split(text, "`")
	for i := range parts {
		if parts[i] = roffText(parts[i]); i%2 == 1 {
			parts[i] = `\fB` + parts[i] + `\fR`
		}
	}
	return strings.ReplaceAll(strings.Join(parts, ""), "·", `\(pc`)
}

// roffText returns a line of text without meaning to roff, where hyphens and quotes can be
// copied.
func roffText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`,
		"^", `\(ha`, "~", `\(ti`, "'", `\(aq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
