package explain

import (
	"fmt"
	"strings"
)

// shellWord quotes word for a shell. A word of plain letters stays as it is. Any other is put into
// '…', and with unprintable bytes, quotes or backslashes, escaped, into $'…', which bash, zsh and
// ksh know. A printed command can so be pasted, whatever bytes a stranger chose as a key.
func shellWord(word []byte) string {
	plain, quote := len(word) > 0, "'"
	var b strings.Builder
	for _, c := range word {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		plain = plain && (letter || strings.IndexByte("_.:/@-+,", c) >= 0)
		if c < ' ' || c > '~' || c == '\\' || c == '\'' {
			quote = "$'"
			fmt.Fprintf(&b, `\x%02x`, c)
			continue
		}
		b.WriteByte(c)
	}
	if plain {
		return b.String()
	}
	return quote + b.String() + "'"
}
