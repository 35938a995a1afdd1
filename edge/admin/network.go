package admin

import (
	"github.com/headgate-dev/headgate/edge/api"
)

// networkRefused returns the problem of a flag for a network, which names the accepted form.
func networkRefused() *api.Problem {
	return api.BadParameter("key", "must be one key exactly as requests send it, such as a single address without a prefix length: "+
		"networks are not supported yet. If requests send exactly this text as their key, give it as the tables print it: "+
		`in the member "shown", or with --shown`)
}
