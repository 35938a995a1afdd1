package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge/api"
)

// Waits for the daemon's rules, which only improve an error, a hint or a completion. Whoever
// completes a word waits at the keyboard.
const (
	rulesTimeout      = time.Second
	completionTimeout = 200 * time.Millisecond
)

// rules asks the daemon for the rules.
func (c *Client) rules(ctx context.Context) ([]api.RuleView, error) {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	var view api.RulesView
	err := c.Get(ctx, "/v1/rules", url.Values{}, &view)
	return view.Rules, err
}

// namesOf returns the names of rules.
func namesOf(rules []api.RuleView) (names []string) {
	for _, rule := range rules {
		names = append(names, rule.Name)
	}
	return names
}

// ExplainRefusal turns the daemon's 404 for rule into an error listing the rules, when rule is
// unknown and the daemon answers.
func (c *Client) ExplainRefusal(ctx context.Context, err error, rule string) error {
	p, ok := errors.AsType[*Problem](err)
	if !ok || rule == "" || p.Status != http.StatusNotFound {
		return err
	}
	rules, listErr := c.rules(ctx)
	names := namesOf(rules)
	if listErr != nil || slices.Contains(names, rule) {
		return err
	}
	return UnknownRule(rule, names)
}

// UnknownRule returns the error for a name no rule has. The rules are listed.
func UnknownRule(name string, names []string) error {
	text := "there is no rule " + Quote(name)
	if len(names) > 0 {
		text += "; the rules are " + strings.Join(names, ", ")
	}
	return errors.New(text)
}

// AskRuleNames returns the names of the running daemon's rules, or nil without an answer.
func (a *App) AskRuleNames(ctx context.Context) []string {
	rules, _ := a.AskRules(ctx)
	return namesOf(rules)
}

// CompleteRules completes a flag with the names of the running daemon's rules.
func (a *App) CompleteRules(
	cmd *cobra.Command, _ []string, _ string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	return a.AskRuleNames(ctx), cobra.ShellCompDirectiveNoFileComp
}

// AskPolicies returns the policies of the running daemon; false without an answer.
func (a *App) AskPolicies(ctx context.Context) ([]api.PolicyView, bool) {
	client, err := a.DialAdmin()
	if err != nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	var view api.PoliciesView
	err = client.Get(ctx, "/v1/policies", url.Values{}, &view)
	return view.Policies, err == nil
}

// AskRules returns the rules of the running daemon; false without an answer.
func (a *App) AskRules(ctx context.Context) ([]api.RuleView, bool) {
	client, err := a.DialAdmin()
	if err != nil {
		return nil, false
	}
	rules, err := client.rules(ctx)
	return rules, err == nil
}
