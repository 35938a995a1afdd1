package cli

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/spf13/cobra"
)

// AddShownFlag gives cmd --shown, so a key can be copied from a list of any bytes.
func AddShownFlag(cmd *cobra.Command, shown *bool) {
	cmd.Flags().BoolVar(shown, "shown", false,
		`read KEY as the tables print it, with unprintable bytes as \xNN`)
}

// KeyOf returns word's key: word itself, or the key shown as word in lists.
func KeyOf(word string, shown bool) (string, error) {
	if !shown {
		return word, nil
	}
	key, ok := api.UnescapeKey(word)
	if !ok {
		return "", fmt.Errorf("--shown: %s is not a key as the tables print it: "+
			`unprintable bytes and \ must be written \xNN`, Quote(word))
	}
	return string(key), nil
}

// ShownKey returns key as in lists.
func ShownKey(key string) string { return api.EscapeKey([]byte(key)) }
