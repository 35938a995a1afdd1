package private

import (
	"fmt"
	"strings"
)

// maxToken bounds a token file, bytes.
const maxToken = 4 << 10

// Token returns the token in the file at path ("": none). warnings say who else can get at it.
func Token(path string) (token string, warnings []string, err error) {
	return one("the admin token", path)
}

// Password returns the password in the file at path ("": none). warnings say who else can get at
// it.
func Password(path string) (password string, warnings []string, err error) {
	return one("the password", path)
}

// one returns the only secret in the file at path, which is called name.
func one(name, path string) (secret string, warnings []string, err error) {
	if path == "" {
		return "", nil, nil
	}
	data, warnings, err := Read(path, maxToken)
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", name, err)
	}
	secret = strings.TrimSpace(string(data))
	if secret == "" || strings.ContainsFunc(secret, func(r rune) bool {
		return r <= ' ' ||
			r >= 0x7f
	}) {
		return "", nil, fmt.Errorf("read %s: %s does not hold exactly one %s of printable ASCII "+
			"without spaces", name, path, name[strings.LastIndexByte(name, ' ')+1:])
	}
	return secret, warnings, nil
}
