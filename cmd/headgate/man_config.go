package main

import (
	"strings"

	"github.com/headgate-dev/headgate/edge/config"
)

// The introduction of the configuration's documentation, in the form of a config.Section's text.
const (
	configIntro = "headgate reads one YAML file: `headgate serve -c FILE`. Every field has a " +
		"default except the name, limit and window of a " +
		"rule, and no file at all is a valid configuration. The file is read strictly: an " +
		"unknown field, a duplicate or an impossible value is an error. " +
		"`headgate config check FILE` reports every fault with its line and column, and the " +
		"nearest name for a " +
		"misspelt one; `--print` also writes the effective configuration, defaults included. " +
		"Editors read the JSON Schema of `headgate config schema`.\n\n" +
		"Durations have a unit (`100ms`, `10s`, `1m30s`, `24h`), and so have sizes (`512KiB`, " +
		"`64MiB`, `1GiB`). Names consist of " +
		"letters, digits, `_`, `.` and `-`."
	reloadText = "`headgate reload` or SIGHUP reads the file again and applies it in one step: " +
		"rules that stay keep their counters and mitigations. Faults are reported and change " +
		"nothing, but set `headgate_config_last_reload_successful` to 0.\n\n" +
		"Rules change at a reload, as do the contents of the files named by `admin_token_file` " +
		"and `gossip.key_file`. Fields " +
		"marked \"restart\" keep their value until the daemon is restarted: a reload and the log " +
		"name those that wait for one. " +
		"The packaged service checks the file first: `systemctl reload headgate` fails, and " +
		"changes nothing, when it has faults."
)

// facts returns the short facts about a field, without the meaning.
func facts(f config.Field) string {
	parts := []string{f.Values, "required"}
	if f.Default != "" {
		parts[1] = "default `" + f.Default + "`"
	}
	if f.NeedsRestart {
		parts = append(parts, "restart")
	}
	return strings.Join(parts, " · ")
}

// configPage returns headgate.yaml(5): the reference of every field, and the example, if any.
func configPage(example, date string) string {
	p := newRoff("headgate.yaml", 5, date)
	p.section("NAME")
	p.line(`headgate.yaml \- configuration of headgate`)
	p.section("DESCRIPTION")
	p.styled(configIntro)
	for _, s := range config.Reference() {
		p.section(strings.ToUpper(s.Title))
		p.styled(s.Text)
		for _, f := range s.Fields {
			p.line(".TP\n.B " + roffText(f.Path))
			p.line(roffStyled(facts(f)))
			p.line(".IP")
			p.line(roffStyled(f.Meaning))
		}
	}
	p.section("RELOADING")
	p.styled(reloadText)
	if example != "" {
		p.section("EXAMPLE")
		p.line("Every field at its default:")
		p.verbatim(example)
	}
	p.section("FILES")
	p.line(".TP\n.B /etc/headgate/headgate.yaml")
	p.line("the configuration that the packages install")
	p.section("SEE ALSO")
	for _, page := range []string{"headgate", "headgate-serve", "headgate-config-check"} {
		p.line(".BR " + roffText(page) + " (1),")
	}
	p.line(`.BR headgate\-reload (1)`)
	return p.String()
}
