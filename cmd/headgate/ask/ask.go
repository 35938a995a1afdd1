package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/config"
)

// ask asks the daemon at address a question and waits for the answer. Without an answer ask returns
// an error: the caller decides.
func ask(
	ctx context.Context, address config.Address, timeout time.Duration, q client.Query,
) (client.Answer, error) {
	c, err := client.Dial(address.String(), client.WithTimeout(timeout),
		client.WithFailMode(client.FailClosed))
	if err != nil {
		return client.Answer{}, err
	}
	defer c.Close() //nolint:errcheck // the answer is here or it is not
	answers, err := c.Batch(ctx, []client.Query{q})
	return answers[0], err
}

// notAsked describes why there is no verdict.
func (a *app) notAsked(ctx context.Context, err error, rule string, f checkFlags) error {
	switch {
	case errors.Is(err, client.ErrUnknownRule):
		return cli.UnknownRule(rule, a.AskRuleNames(ctx))
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.Is(err, client.ErrNoDaemon):
		return fmt.Errorf("no answer from headgate at %s (is `headgate serve` running? --addr or "+
			"HEADGATE_ADDR sets another address)", f.address)
	case errors.Is(err, client.ErrTimeout):
		return fmt.Errorf("no answer from %s within %v (--addr or HEADGATE_ADDR sets another "+
			"address)", f.address, f.timeout)
	}
	return fmt.Errorf("check: %w", err)
}

// app is the program, with the actions of this package's commands.
type app struct{ *cli.App }
