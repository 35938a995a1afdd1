package ask

import "github.com/spf13/cobra"

// completeRule completes the first argument with the running daemon's rules; keys are unknown here.
func (a *app) completeRule(
	cmd *cobra.Command, args []string, word string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.CompleteRules(cmd, nil, word)
}

// addRuleFlag gives cmd --rule, completed from the running daemon.
func (a *app) addRuleFlag(cmd *cobra.Command, rule *string) {
	cmd.Flags().StringVar(rule, "rule", "", "only the rule `NAME`")
	if err := cmd.RegisterFlagCompletionFunc("rule", a.CompleteRules); err != nil {
		panic(err) // the flag was added above
	}
}
