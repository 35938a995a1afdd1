package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

// rulesTimeout is how long help may wait for the daemon's rule names: it only makes an error kinder,
// or completes a word.
const rulesTimeout = 200 * time.Millisecond

// ruleNames asks the daemon for the names of its rules.
func (c *Client) ruleNames(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	var view api.RulesView
	if err := c.Get(ctx, "/v1/rules", url.Values{}, &view); err != nil {
		return nil, err
	}
	names := make([]string, len(view.Rules))
	for i, rule := range view.Rules {
		names[i] = rule.Name
	}
	return names, nil
}

// ExplainRefusal turns the daemon's 404 for rule into an error that lists the rules, when rule is
// none of them and the daemon tells.
func (c *Client) ExplainRefusal(ctx context.Context, err error, rule string) error {
	p, ok := errors.AsType[*Problem](err)
	if !ok || rule == "" || p.Status != http.StatusNotFound {
		return err
	}
	names, listErr := c.ruleNames(ctx)
	if listErr != nil || slices.Contains(names, rule) {
		return err
	}
	return UnknownRule(rule, names)
}

// UnknownRule says that no rule is called name, and which there are.
func UnknownRule(name string, names []string) error {
	text := "there is no rule " + Quote(name)
	if len(names) > 0 {
		text += "; the rules are " + strings.Join(names, ", ")
	}
	return errors.New(text)
}

// AskRuleNames returns the names of the running daemon's rules, or nil where it does not tell.
func (a *App) AskRuleNames(ctx context.Context) []string {
	client, err := a.DialAdmin()
	if err != nil {
		return nil
	}
	names, err := client.ruleNames(ctx)
	if err != nil {
		return nil
	}
	return names
}
