package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/live"
)

// Events returns `headgate events`, which follows the changes of mitigations.
func Events(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Follow mitigations as they are set, changed and cleared",
		Long: `Print a line for each mitigation that is set, changed or cleared, as it happens,
until ctrl-C. Several changes of one key within a second are printed as one. At most 100 changes
a second are printed; the rest are only counted.`,
		Example: `  headgate events
  headgate events --json | jq -r 'select(.event == "flag-set") | .data.key'`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.events(cmd.Context(), asJSON) },
	}
	a.AddAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one event a line")
	return cmd
}

func (a *app) events(ctx context.Context, asJSON bool) error {
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	stream, err := client.Stream(ctx, "/v1/events")
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // read as far as it is wanted
	if !asJSON {
		fmt.Fprintln(a.Stdout, a.Paint(cli.Faint, "TIME      CHANGE     RULE  KEY  MITIGATION"))
	}
	events := live.NewScanner(stream)
	for {
		e, err := events.Next()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%s closed the stream", client.Address)
		case err != nil:
			return client.Unreachable(err)
		case asJSON:
			err = a.printEventJSON(e)
		default:
			err = a.printEvent(e)
		}
		if err != nil {
			return fmt.Errorf("%s sends events that are not headgate's: %w", client.Address, err)
		}
	}
}

// eventLine is an event for --json.
type eventLine struct {
	Event string          `json:"event"`
	ID    string          `json:"id,omitempty"`
	Data  json.RawMessage `json:"data"`
}

func (a *app) printEventJSON(e live.Event) error {
	out := json.NewEncoder(a.Stdout)
	out.SetEscapeHTML(false)
	return out.Encode(eventLine{Event: e.Name, ID: e.ID, Data: e.Data})
}

// printEvent prints an event for people, or nothing for an event of later daemons.
func (a *app) printEvent(e live.Event) error {
	switch e.Name {
	case api.EventHello:
		var v api.HelloView
		err := json.Unmarshal(e.Data, &v)
		if err == nil {
			a.printEventLine("following",
				strings.TrimSpace(cli.Safe(v.Node)+" of "+cli.Safe(v.PoP)))
		}
		return err
	case api.EventLost:
		var v api.LostView
		err := json.Unmarshal(e.Data, &v)
		if err == nil {
			a.printEventLine("…", cli.Count(v.Events, "more change"))
		}
		return err
	case api.EventFlagSet, api.EventFlagChanged, api.EventFlagCleared:
		return a.printFlagEvent(e)
	case api.EventMode:
		var v api.ModeView
		err := json.Unmarshal(e.Data, &v)
		if err == nil {
			a.printEventLine(e.Name, cli.Safe(v.Rule+v.Policy)+"  "+cli.Safe(v.Mode))
		}
		return err
	case api.EventLimitSet, api.EventLimitUnset, api.EventLimitEnded:
		var v api.LimitView
		err := json.Unmarshal(e.Data, &v)
		if err == nil {
			a.printEventLine(e.Name, fmt.Sprintf("%s  %s  %v, until %s, by %s", cli.Safe(v.Rule),
				cli.Safe(v.Key), v.Limit, v.Expires.Format(time.RFC3339), cli.Safe(v.By)))
		}
		return err
	}
	return nil
}

func (a *app) printFlagEvent(e live.Event) error {
	var v api.MitigationView
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return err
	}
	text := flagged(&v, a.Now())
	if e.Name == api.EventFlagCleared {
		text = fmt.Sprintf("was %s, source %s, for %s", v.Action, v.Source,
			cli.Span(a.Now().Sub(v.Since).Truncate(time.Second)))
	}
	a.printEventLine(strings.TrimPrefix(e.Name, "flag-"),
		fmt.Sprintf("%s  %s  %s", cli.Safe(v.Rule), cli.Safe(v.Key),
			a.Paint(cli.StateStyle(v.Action), cli.Safe(text))))
	return nil
}

// printEventLine prints time, change and key; text is safe to show.
func (a *app) printEventLine(what, text string) {
	fmt.Fprintf(a.Stdout, "%s  %s  %s\n", a.Paint(cli.Faint, a.Now().Format(time.TimeOnly)),
		a.Paint(cli.Strong, fmt.Sprintf("%-9s", what)), text)
}
