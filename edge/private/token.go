package private

import (
	"fmt"
	"strings"
)

// maxToken bounds a token file, bytes.
const maxToken = 4 << 10

// Token returns the token in the file at path ("": none). warnings say who else can get at it.
func Token(path string) (token string, warnings []string, err error) {
	if path == "" {
		return "", nil, nil
	}
	data, warnings, err := Read(path, maxToken)
	if err != nil {
		return "", nil, fmt.Errorf("read the admin token: %w", err)
	}
	token = strings.TrimSpace(string(data))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", nil, fmt.Errorf("read the admin token: %s does not hold exactly one token of printable ASCII without spaces", path)
	}
	return token, warnings, nil
}
