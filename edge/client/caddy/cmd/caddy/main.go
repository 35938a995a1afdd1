// Command caddy is Caddy with the module of headgate.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/headgate-dev/headgate/edge/client/caddy"
)

func main() { caddycmd.Main() }
