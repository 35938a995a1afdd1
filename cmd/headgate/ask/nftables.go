package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// Export returns `headgate export`, with the command nftables.
func Export(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Hand the blocks on to a packet filter",
		Args:  cobra.ArbitraryArgs,
		RunE:  cli.HelpOrUnknown,
	}
	cmd.AddCommand(a.nftables())
	return cmd
}

// nftFlags are the options of `headgate export nftables`.
type nftFlags struct {
	nftRules
	neverText    []string
	resync       time.Duration
	dryRun, once bool
}

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,30}$`)

func (a *app) nftables() *cobra.Command {
	var f nftFlags
	cmd := &cobra.Command{
		Use:   "nftables",
		Short: "Keep sets of nftables equal to the blocked addresses",
		Long: `Drop the packets of blocked addresses and networks: keep four sets of a table of its
own equal to the blocks in force, of rules that enforce, until SIGTERM. Each element ends by itself
when its block does, also when this command is gone. Needs the program nft and CAP_NET_ADMIN, and
no daemon on this machine: it asks --admin twice a second. A block then closes every port, SSH too:
name your own networks with --never. Never dropped: the addresses of this machine, of the proxies in
clients.trusted, of ring.servers and of gossip.join.`,
		Example: `  headgate export nftables --dry-run
  headgate export nftables --rule login --never 192.0.2.0/24`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.exportBlocks(cmd.Context(), &f)
		},
	}
	a.AddAdminFlags(cmd)
	f.add(cmd)
	return cmd
}

func (f *nftFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.table, "table", "headgate", "the table, `NAME`, of family inet")
	flags.StringVar(&f.hook, "hook", "prerouting", "prerouting drops; none only fills the sets")
	flags.StringArrayVar(&f.rules, "rule", nil, "only blocks of the rule `NAME`; may be repeated")
	flags.StringArrayVar(&f.neverText, "never", nil, "never drop the network `CIDR`; may be "+
		"repeated")
	flags.IntVar(&f.most, "max", 65536, "drop at most `N`, those that last longest")
	flags.DurationVar(&f.minTTL, "min-ttl", 10*time.Second, "leave out blocks shorter than "+
		"`DURATION`")
	flags.DurationVar(&f.maxTTL, "max-ttl", 24*time.Hour, "longest timeout, `DURATION`")
	flags.DurationVar(&f.resync, "resync", time.Minute, "write all sets again after `DURATION`")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the script of nft, and change nothing")
	flags.BoolVar(&f.once, "once", false, "end when the sets are equal to the blocks")
}

func (f *nftFlags) check() error {
	switch {
	case !tableName.MatchString(f.table):
		return fmt.Errorf("--table must be a name of nftables, not %s", cli.Quote(f.table))
	case f.hook != "prerouting" && f.hook != "none":
		return fmt.Errorf("--hook is prerouting or none, not %s", cli.Quote(f.hook))
	case f.most < 1 || f.minTTL < 0 || f.maxTTL < time.Second || f.resync < time.Second:
		return errors.New("--max, --max-ttl and --resync must be 1, 1s and 1s at least")
	}
	for _, text := range f.neverText {
		if _, ok := networkOf(text); !ok {
			return fmt.Errorf("--never %s is no network", cli.Quote(text))
		}
	}
	return nil
}

// nftExport is the state of an export.
type nftExport struct {
	*app
	*nftFlags
	daemon *cli.Client
	have   map[netip.Prefix]time.Time // in the sets, with the ends of their blocks
	synced time.Time                  // when the sets were written anew; zero: they are not known
	noted  time.Time                  // when the last line about what is wrong was printed
}

// exportBlocks keeps the sets equal to the blocks.
func (a *app) exportBlocks(ctx context.Context, f *nftFlags) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("export nftables: %w", err)
	}
	daemon, err := a.DialAdmin()
	if err != nil {
		return err
	}
	defer daemon.Close()
	x := &nftExport{app: a, nftFlags: f, daemon: daemon}
	for {
		began := a.Now()
		fatal, err := x.follow(ctx, began)
		switch {
		case ctx.Err() != nil:
			return nil // elements end by their timeouts
		case err != nil && (fatal || f.once || f.dryRun):
			return daemon.ExplainRefusal(ctx, err, "")
		case err != nil:
			x.note(began, cli.SafeLines(err.Error())+"; trying again each second")
		case f.once || f.dryRun:
			return nil
		}
		rest := max(500*time.Millisecond, 20*a.Now().Sub(began))
		if err != nil {
			rest = time.Second
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
	}
}

// note prints a line, at most one a minute.
func (x *nftExport) note(now time.Time, line string) {
	if now.Sub(x.noted) >= time.Minute {
		x.noted = now
		fmt.Fprintln(x.Stderr, line)
	}
}

// follow makes the sets equal to the blocks of now. An error is fatal where trying again is no use.
func (x *nftExport) follow(ctx context.Context, now time.Time) (fatal bool, err error) {
	whole := now.Sub(x.synced) >= x.resync
	if whole {
		err = x.addOwn(ctx)
	}
	var page api.MitigationsView
	if err == nil {
		page, err = fetchMitigations(ctx, x.daemon, mitigationsFlags{})
	}
	if err != nil {
		_, answered := errors.AsType[*cli.Problem](err)
		return answered, err
	}
	all, over, never := x.wanted(page.Mitigations, x.have, now)
	if over > 0 {
		x.note(now, fmt.Sprintf("--max leaves out %s", cli.Count(over, "block")))
	}
	if len(never) > 0 {
		x.note(now, fmt.Sprintf("never dropped, though blocked: %s, such as %s",
			cli.Count(len(never), "network"), never[0]))
	}
	return x.write(ctx, now, all, whole)
}

// write has nft make the sets hold all.
func (x *nftExport) write(
	ctx context.Context, now time.Time, all map[netip.Prefix]time.Time, whole bool,
) (fatal bool, err error) {
	script, have := "", x.have
	if whole = whole || x.unsure(x.have, all, now); whole {
		script, have = x.begin(), nil
	}
	script += x.change(have, all, now)
	if x.dryRun {
		_, err = fmt.Fprint(x.Stdout, script)
		return true, err
	}
	first := x.synced.IsZero() && x.have == nil
	if err := runNft(ctx, script); err != nil {
		x.synced = time.Time{}
		return first, err
	}
	if x.have = all; whole {
		x.synced = now
	}
	return false, nil
}

// addOwn has the addresses of this machine, and those of the daemon's configuration and of the
// members of its gossip, never dropped.
func (x *nftExport) addOwn(ctx context.Context) error {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	own := append([]string{"127.0.0.0/8", "::1"}, x.neverText...)
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			own = append(own, n.IP.String())
		}
	}
	more, err := x.hops(ctx)
	x.never = nil
	for _, text := range append(own, more...) {
		if p, ok := networkOf(text); ok {
			x.never = append(x.never, p)
		}
	}
	return err
}

// hops returns the addresses that the daemon's configuration names, and those of the members of its
// gossip.
func (x *nftExport) hops(ctx context.Context) (all []string, err error) {
	var in api.ConfigView
	var c struct {
		Clients struct{ Trusted []string }
		Ring    struct{ Servers []string }
		Gossip  struct{ Join []string }
	}
	var cluster api.ClusterView
	if err := x.daemon.Get(ctx, "/v1/config", nil, &in); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(in.Config, &c); err != nil {
		return nil, err
	}
	if err := x.daemon.Get(ctx, "/v1/cluster", nil, &cluster); err != nil {
		return nil, err
	}
	all = c.Clients.Trusted
	servers := append(c.Ring.Servers, c.Gossip.Join...)
	if cluster.Gossip != nil {
		for i := range cluster.Gossip.Members {
			servers = append(servers, cluster.Gossip.Members[i].Address)
		}
	}
	for _, server := range servers {
		address, _, _ := strings.Cut(server, " ") // a weight
		if host, _, err := net.SplitHostPort(address); err == nil {
			found, _ := net.DefaultResolver.LookupHost(ctx, host)
			all = append(all, found...)
		}
	}
	return all, nil
}

// runNft has nft run a script, all of it or nothing.
func runNft(ctx context.Context, script string) error {
	if script == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("the program nft is missing: install nftables")
	case err != nil:
		return fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
