package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
)

// addShownFlag gives cmd --shown, so that a key can be copied from a list whatever its bytes.
func addShownFlag(cmd *cobra.Command, shown *bool) {
	cmd.Flags().BoolVar(shown, "shown", false, `take KEY as lists show it, with odd bytes as \xNN`)
}

// keyOf returns the key that word stands for: itself, or what lists show as word.
func keyOf(word string, shown bool) (string, error) {
	if !shown {
		return word, nil
	}
	key, ok := edge.UnescapeKey(word)
	if !ok {
		return "", fmt.Errorf(`--shown: %s is not a key as lists show it, with odd bytes and \ as \xNN`, quote(word))
	}
	return string(key), nil
}

// shownKey returns key as lists show it.
func shownKey(key string) string { return edge.EscapeKey([]byte(key)) }
