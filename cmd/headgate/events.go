package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/live"
)

func eventsCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Follow the flags as they are set, changed and cleared",
		Long: `Print a line for each flag that is set, changed or cleared, as it happens, until ctrl-C. Several changes of one key
within a second are one; of more than 100 in a second the others are only counted.`,
		Example: `  headgate events
  headgate events --json | jq -r 'select(.event == "flag-set") | .data.key'`,
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.events(cmd.Context(), asJSON) },
	}
	a.addAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one event a line")
	return cmd
}

func (a *app) events(ctx context.Context, asJSON bool) error {
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	stream, err := client.stream(ctx, "/v1/events")
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // read as far as it is wanted
	events := live.NewScanner(stream)
	for {
		e, err := events.Next()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%s ended the stream", client.address)
		case err != nil:
			return client.unreachable(err)
		case asJSON:
			err = a.printEventJSON(e)
		default:
			err = a.printEvent(e)
		}
		if err != nil {
			return fmt.Errorf("%s sends events, but not as a headgate does: %w", client.address, err)
		}
	}
}

// stream asks for path and returns the answer as it comes. It has to begin in time, and may go on for ever.
func (c *adminClient) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	endless := c.http
	endless.Timeout = 0
	response, err := endless.Do(request)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if response.StatusCode == http.StatusOK && strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return response.Body, nil
	}
	data, err := c.read(response, maxAnswer)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return nil, fmt.Errorf("%s answers, but not as a headgate does", c.address)
	}
	return nil, c.problem(response, data)
}

// eventLine is an event as --json prints it.
type eventLine struct {
	Event string          `json:"event"`
	ID    string          `json:"id,omitempty"`
	Data  json.RawMessage `json:"data"`
}

func (a *app) printEventJSON(e live.Event) error {
	out := json.NewEncoder(a.stdout)
	out.SetEscapeHTML(false)
	return out.Encode(eventLine{Event: e.Name, ID: e.ID, Data: e.Data})
}

// printEvent prints an event for people, or nothing if it is one that a later daemon may send.
func (a *app) printEvent(e live.Event) error {
	switch e.Name {
	case edge.EventHello:
		var v edge.HelloView
		err := json.Unmarshal(e.Data, &v)
		if err == nil {
			a.printEventLine("following", strings.TrimSpace(safe(v.Node)+" of "+safe(v.PoP)))
		}
		return err
	case edge.EventLost:
		var v edge.LostView
		err := json.Unmarshal(e.Data, &v)
		if err == nil {
			a.printEventLine("…", count(v.Events, "more change"))
		}
		return err
	case edge.EventFlagSet, edge.EventFlagChanged, edge.EventFlagCleared:
		return a.printFlagEvent(e)
	}
	return nil
}

func (a *app) printFlagEvent(e live.Event) error {
	var v edge.MitigationView
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return err
	}
	text := flagged(&v, a.now())
	if e.Name == edge.EventFlagCleared {
		text = fmt.Sprintf("was %s by %s, for %s", v.Action, v.Source, span(a.now().Sub(v.Since).Truncate(time.Second)))
	}
	a.printEventLine(strings.TrimPrefix(e.Name, "flag-"), fmt.Sprintf("%s  %s  %s", safe(v.Rule), safe(v.Key), a.paint(stateStyle(v.Action), safe(text))))
	return nil
}

// printEventLine prints when, what and about whom; text is safe to show.
func (a *app) printEventLine(what, text string) {
	fmt.Fprintf(a.stdout, "%s  %s  %s\n", a.paint(faint, a.now().Format(time.TimeOnly)), a.paint(strong, fmt.Sprintf("%-9s", what)), text)
}
