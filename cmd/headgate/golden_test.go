package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// sessions are golden files and the command lines that each one shows.
var sessions = map[string]string{
	"help": `
		$EMPTY
		--help
		serve --help
		demo --help
		check --help
		config --help
		config check --help
		mitigations --help
		top --help
		rules --help
		suggest --help
		replay --help
		events --help
		explain --help
		pools --help
		leases --help
		cluster --help
		health --help
		block --help
		allow --help
		unblock --help
		mode --help
		reload --help
		version --help
		config show --help
		import --help
		import envoy --help
	`,
	"check": `
		check --addr $UDP login good
		check --addr $UDP --cost 10 login good
		check --addr $UDP --json login good
		check --addr $UDP login blocked
		check --addr $UDP login shed
		check --addr $UDP --json --peek login shed
		check --addr $UDP login shadowed
		check --addr $UDP --count login good
		check --addr $UDP --count --json login good
		check --addr $UDP logn good
		check --addr $UDP --timeout 50ms login silence
		check --addr 127.0.0.1:1 login good
		check --addr nowhere login good
		check --addr $UDP --cost 0 login good
		check --addr $UDP --timeout 0s login good
		check --addr $UDP lo/gin good
		check --addr $UDP --peek --count login good
		check login
	`,
	"mitigations": `
		mitigations
		mitigations -n 1
		mitigations -n 1 --cursor page2 --json
		mitigations --rule login
		mitigations --rule nope
		mitigations -n -1
		mitigations much
	`,
	"top": `
		top
		top --rule login -n 3 --json
		top --sort share
		top --sort size
		top --rule nope
		top -n 0
		top --live --once
	`,
	"events": `
		events
		events --json
		events --json --admin 127.0.0.1:1
		events now
	`,
	"rules": `
		rules
		rules --json
		rules much
	`,
	"suggest": `
		suggest per-ip
		suggest per-ip --json
		suggest login
		suggest fleet
		suggest jobs
		suggest partners
		suggest workers
		suggest workers --json
		suggest tenant
		suggest nope
		suggest
	`,
	"kinds": `
		top --sort used
		top --sort used --rule api
		top --sort used --rule jobs
		pools
		pools --json
		rls
		rls --json
		leases jobs
		leases jobs k
		leases jobs idle
		leases jobs k --json
		leases per-ip
		leases
	`,
	"past": `
		history login 203.0.113.7
		history login 203.0.113.7 --since 12h
		history login 203.0.113.7 --json
		history login 203.0.113.7 --since 48h
		history login nobody
		history nope 203.0.113.7
		explain login 203.0.113.7 --at 11:58
		explain login 203.0.113.7 --at 12:00
		explain login 203.0.113.7 --at 2000-01-01T11:58:00Z --json
		explain login 203.0.113.7 --at 25:99
		explain login 203.0.113.7 --at 11:58 --by 1
	`,
	"explain": `
		explain login 203.0.113.7
		explain per-ip 198.51.100.20
		explain per-ip \x1b[2J --shown
		explain per-ip shadowed
		explain per-ip $ESC[2Ja&b=c%/$FF
		explain login 203.0.113.7 --json
		explain nope 203.0.113.7
		explain per-ip shared
		explain per-ip shared --json
		explain per-ip untold
		explain per-ip lost-local
		explain per-ip lost-allow
		explain per-ip lost-deny
		explain per-ip worldwide
		explain per-ip worldwide --json
		explain per-ip unsaid
		explain per-ip lost-world
		explain per-ip lost-alone
		explain per-ip bucket
		explain per-ip full-bucket
		explain per-ip places
		explain per-ip no-places
		explain per-ip reserve
		explain per-ip strikes
		explain per-ip ladder
		explain per-ip blast
		explain per-ip small-blast
		explain per-ip no-blast
		explain per-ip shed-by
		explain per-ip drawn --by 203.0.113.7
		explain per-ip drawn --by $ESC[2J
		explain per-ip ladder --json
	`,
	"change": `
		block login 203.0.113.7 --ttl 10m --reason scraping
		allow login $ESC[2Jé --by bob --json
		block login $FF
		block login \xff --shown
		block login \xf --shown
		allow login 2001:db8::/64 --shown
		unblock login \x1b[2J --shown
		block login 203.0.113.7 --ttl -1s
		block login 203.0.113.7 --ttl soon
		block nope 203.0.113.7
		unblock login 203.0.113.7&x
		unblock login nobody
		unblock login nobody --json
		unblock nope nobody
		block login 203.0.113.7 --ttl 0
		unblock login 203.0.113.7 --reason mistaken --by bob --json
		mode shadow
		mode off login
		mode enforce login --reason checked --json
		mode off nope
		mode on
		mode
		mode --json
		mode off login much
		reload
		reload --json
	`,
	"config": `
		config show
		config show --json
		config show much
		config
	`,
	"init": `
		init
		init --help
		init nginx --help
		init ngnix
		init caddy much
		init nginx --rule a;b
		init caddy
		init caddy --rule login --write $DIR
		init haproxy --rule nope --write $DIR
		init nginx --write $DIR -c $DIR/none
	`,
	"policies": `
		test-request --help
		policy --help
		policy list --help
		policy test --help
		policy list -c testdata/policies.yaml
		policy list
		policy list --json
		policy list --admin 127.0.0.1:1
		policy test testdata/policy-cases.yaml
		policy lst
		policy test -c testdata/policies.yaml testdata/policy-cases.yaml
		policy test -c testdata/policies.yaml testdata/policy-cases.yaml \
		  testdata/policy-cases-wrong.yaml
		policy test -c testdata/policies.yaml testdata/policy-cases-faults.yaml
		policy test -c testdata/policies.yaml testdata/policies.yaml
		policy test -c testdata/policies.yaml testdata/none.yaml
		test-request -c testdata/policies.yaml https://api.example.com/v2/./x -H \
		  X-API-Key:k-gold --client 203.0.113.7
		test-request -c testdata/policies.yaml example.com/x/..//%2eenv -H \
		  X-Forwarded-For:203.0.113.7,127.0.0.9
		test-request -c testdata/policies.yaml example.com/.env -H \
		  X-Forwarded-For:203.0.113.7 --peer 192.0.2.5
		test-request -c testdata/policies.yaml -X POST example.com/login --client 2001:db8::1
		test-request -c testdata/policies.yaml -X POST example.com/login --client \
		  2001:db8::1 --status 401
		test-request -c testdata/policies.yaml -X POST example.com/login --client \
		  2001:db8::1 --status 200
		test-request -c testdata/policies.yaml example.com/export/csv --client 203.0.113.7 --json
		test-request -c testdata/policies.yaml example.com/export/csv --client 203.0.113.7
		test-request -c testdata/policies.yaml example.com/x/..%2F%2eenv --client 203.0.113.7
		test-request -c testdata/many.yaml example.com/api --client 203.0.113.7
		test-request -c testdata/policies.yaml example.com/export%2Fcsv --client 203.0.113.7 --json
		test-request -c testdata/policies.yaml example.com/ -H X-Forwarded-For:unknown
		test-request -c testdata/policies.yaml example.com/ -H wrong
		test-request -c testdata/policies.yaml example.com/ --client nobody
		test-request -c testdata/policies.yaml http://exa[mple/
		test-request example.com/login -H X-Forwarded-For:203.0.113.7 -H 'a: b' --peer \
		  127.0.0.1 -X POST --status 401
		test-request example.com/login --json
		test-request
	`,
	"docs": `
		docs unban -n 1
		docs unban -n 1 --json
		docs docs/symptoms.md#latency-rose
		docs zzqx
		docs zzqx --json
		docs policies#none
		docs unban -n 0
	`,
	"errors": `
		chek login 203.0.113.7
		config chck FILE
		help chek
		help config chck
		help config show
		completion zhs
		top --wat
		top --admin 127.0.0.1:1
		top --admin unix:$DIR/no.sock
		top --admin 4292
		top --token-file $DIR/none
		serve --log-level loud
		serve --log-format xml
	`,
}

// spelt spells odd bytes, and the empty command.
var spelt = strings.NewReplacer("$ESC", "\x1b", "$FF", "\xff", "$EMPTY", "")

func TestGolden(t *testing.T) {
	edgetest.Alone(t)
	for name, commands := range sessions {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var session strings.Builder
			commands = strings.ReplaceAll(commands, "\\\n", "")
			for line := range strings.Lines(strings.TrimSpace(commands)) {
				line = strings.Join(strings.Fields(line), " ")
				session.WriteString(b.session(spelt.Replace(line)))
			}
			clitest.CompareGolden(t, filepath.Join("testdata", name+".golden"), session.String())
		})
	}
}

// session runs one command line and renders its output and exit code. Requests to the daemon stand
// behind >, stderr behind !.
func (b *bench) session(line string) string {
	b.t.Helper()
	code, stdout, stderr := b.run(b.t.Context(), strings.Fields(line)...)
	var s strings.Builder
	fmt.Fprintf(&s, "$ headgate %s\n", cli.Safe(line))
	for _, request := range b.admin.requests() {
		fmt.Fprintf(&s, "> %s\n", request)
	}
	s.WriteString(stdout)
	for errorLine := range strings.Lines(stderr) {
		s.WriteString("! " + errorLine)
	}
	fmt.Fprintf(&s, "[%d]\n\n", code)
	return s.String()
}
