package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
)

// rulesTimeout is how long help may wait for the daemon's rule names: it only makes an error kinder,
// or completes a word.
const rulesTimeout = 200 * time.Millisecond

// ruleNames asks the daemon for the names of its rules.
func (c *adminClient) ruleNames(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	var view edge.RulesView
	if err := c.get(ctx, "/v1/rules", url.Values{}, &view); err != nil {
		return nil, err
	}
	names := make([]string, len(view.Rules))
	for i, rule := range view.Rules {
		names[i] = rule.Name
	}
	return names, nil
}

// explainRefusal turns the daemon's 404 for rule into an error that lists the rules, when rule is
// none of them and the daemon tells.
func (c *adminClient) explainRefusal(ctx context.Context, err error, rule string) error {
	p, ok := errors.AsType[*problem](err)
	if !ok || rule == "" || p.Status != http.StatusNotFound {
		return err
	}
	names, listErr := c.ruleNames(ctx)
	if listErr != nil || slices.Contains(names, rule) {
		return err
	}
	return unknownRule(rule, names)
}

// unknownRule says that no rule is called name, and which there are.
func unknownRule(name string, names []string) error {
	text := "no rule is called " + quote(name)
	if len(names) > 0 {
		text += "; the rules are " + strings.Join(names, ", ")
	}
	return errors.New(text)
}

// askRuleNames returns the names of the running daemon's rules, or nil where it does not tell.
func (a *app) askRuleNames(ctx context.Context) []string {
	client, err := a.dialAdmin()
	if err != nil {
		return nil
	}
	names, err := client.ruleNames(ctx)
	if err != nil {
		return nil
	}
	return names
}

// completeRule completes the first argument with the running daemon's rules; keys it cannot know.
func (a *app) completeRule(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.askRuleNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

// addRuleFlag gives cmd --rule, completed from the running daemon.
func (a *app) addRuleFlag(cmd *cobra.Command, rule *string) {
	cmd.Flags().StringVar(rule, "rule", "", "only this `rule`")
	complete := func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completeRule(cmd, nil, word)
	}
	if err := cmd.RegisterFlagCompletionFunc("rule", complete); err != nil {
		panic(err) // the flag was added two lines up
	}
}
