// Package policies holds the commands on policies: test-request prints the policies' decision on a
// request, `policy list` prints a table, and `policy test` holds policies to a file of cases.
//
//	headgate.yaml ──edge/config──► policy.Engine ──edge/sample──┐
//	a daemon ──GET /v1/policies, POST /v1/test-request──────────┴──► text or JSON
package policies

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
)

// app is the receiver of the commands of this package.
type app struct{ *cli.App }

// load reads the policies of the configuration called file.
func (a *app) load(file string) (*policy.Engine, error) {
	if file == "" {
		return nil, errors.New("the name of a configuration is missing: give it with -c FILE")
	}
	c, err := config.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read %s:\n%w", file, err)
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // it never fails
	return config.ReloadPolicies(&c, policy.Options{Key: key, Now: a.Now()})
}
