// Package policies holds the commands on policies that need no daemon: test-request says what a
// configuration makes of one request, `policy test` holds it to a file of cases, and `policy list`
// prints it as a table.
//
//	headgate.yaml ──edge/config──► policy.Engine ◄── request of the command line, or of a case
//	                                  │
//	                                  └──Trace, Evaluate──► text or JSON
package policies

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
)

// app is what the commands of this package are methods of.
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
	return config.LoadPolicies(&c, key)
}
