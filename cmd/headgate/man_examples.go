package main

// manExamples is the daily path, for headgate(1), in the form of a reference.Section's text.
const manExamples = "Check the configuration, and run the daemon by it:\n\n" +
	"  headgate config check /etc/headgate/headgate.yaml\n" +
	"  headgate serve -c /etc/headgate/headgate.yaml\n\n" +
	"Print the lines that connect nginx:\n\n" +
	"  headgate init nginx\n\n" +
	"Ask for one decision, and for the reason behind it:\n\n" +
	"  headgate check login 203.0.113.7\n" +
	"  headgate explain login 203.0.113.7\n\n" +
	"See the effect of a rule in shadow, then enforce it until the next reload (the mode in the " +
	"file decides from then on):\n\n" +
	"  headgate rules\n" +
	"  headgate suggest per-ip\n" +
	"  headgate mode enforce per-ip\n\n" +
	"Try a rule on the access log of yesterday:\n\n" +
	"  headgate replay -c /etc/headgate/headgate.yaml --rule per-ip " +
	"/var/log/nginx/access.log.1\n\n" +
	"Block a client for an hour, and end it early:\n\n" +
	"  headgate block login 203.0.113.7 --ttl 1h --reason 'ticket 4711'\n" +
	"  headgate unblock login 203.0.113.7\n\n" +
	"Deny nothing any more, with every rule still counting:\n\n" +
	"  headgate mode shadow"
