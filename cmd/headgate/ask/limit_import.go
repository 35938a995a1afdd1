package ask

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

func (a *app) limitImport() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Set the limits of a file, all or none",
		Long: `Set the limits of a CSV file, all or none: rule,key,limit[,burst[,until[,reason]]].
A line without an end or a reason takes that of the option. At most 2,000 lines: more is for a
table.`,
		Args: cli.Want("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importLimits(cmd.Context(), args[0], &f)
		},
	}
	a.AddAdminFlags(cmd)
	f.addEnds(cmd)
	addChangeFlags(cmd, &f.changeFlags)
	return cmd
}

func (a *app) importLimits(ctx context.Context, name string, f *limitFlags) error {
	in := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // the operator names it
		if err != nil {
			return fmt.Errorf("limit import: %w", err)
		}
		defer file.Close() //nolint:errcheck // only read from
		in = file
	}
	all, err := f.lines(csv.NewReader(in), a.author(f.changeFlags))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	daemon, err := a.DialAdmin()
	if err != nil {
		return err
	}
	if all, err = a.resolved(ctx, daemon, all); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var set api.LimitsSetView
	if err := daemon.Do(ctx, http.MethodPost, "/v1/limits",
		map[string]any{"limits": all}, &set); err != nil {
		return fmt.Errorf("limit import: %w", err)
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, set)
	}
	fmt.Fprintf(a.Stdout, "set %d limits (%s)\n", set.Set, reach(ctx, daemon))
	return nil
}

// resolved returns the limits of all with their keys as the rules count them.
func (a *app) resolved(
	ctx context.Context, daemon *cli.Client, all []api.LimitRequest,
) (meant []api.LimitRequest, err error) {
	for i := range all {
		keys, err := a.keysOf(ctx, daemon, all[i].Rule, all[i].Key, &whom{everybody: true})
		if err != nil {
			return nil, fmt.Errorf("limit %d: %w", i+1, err)
		}
		for _, key := range keys {
			is := all[i]
			is.Key, is.Shown = sent(key, false)
			meant = append(meant, is)
		}
	}
	return meant, nil
}

// lines reads the limits of a file.
func (f *limitFlags) lines(in *csv.Reader, by string) (all []api.LimitRequest, err error) {
	in.FieldsPerRecord, in.Comment, in.TrimLeadingSpace = -1, '#', true
	for {
		fields, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read: %w", err)
		}
		line, _ := in.FieldPos(0)
		if len(fields) < 3 || len(fields) > 6 {
			return nil, fmt.Errorf("line %d: must be rule,key,limit[,burst[,until[,reason]]]", line)
		}
		fields = append(fields, "", "", "")
		is := api.LimitRequest{
			Rule: fields[0], Key: fields[1], Limit: fields[2], Burst: fields[3], Until: fields[4],
			Reason: cli.First(fields[5], f.reason), By: by,
		}
		if is.Until == "" {
			is.TTL, is.Until = f.request.TTL, f.request.Until
		}
		if is.TTL == "" && is.Until == "" {
			return nil, fmt.Errorf("line %d: has no end, and there is no --for or --until", line)
		}
		all = append(all, is)
	}
}
