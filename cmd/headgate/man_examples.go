package main

// manExamples is the daily path, for headgate(1), in the form of a reference.Section's text.
const manExamples = `Check the configuration, and run the daemon by it:

  headgate config check /etc/headgate/headgate.yaml
  headgate serve -c /etc/headgate/headgate.yaml

Print the lines that connect nginx:

  headgate init nginx

Ask for one decision, and for the reason behind it:

  headgate check login 203.0.113.7
  headgate explain login 203.0.113.7

See the effect of a rule in shadow, then enforce it until the next reload (the mode in the
file decides from then on):

  headgate rules
  headgate suggest per-ip
  headgate mode enforce per-ip

Try a rule on the access log of yesterday:

  headgate replay -c /etc/headgate/headgate.yaml --rule per-ip /var/log/nginx/access.log.1

Block a client for an hour, and end it early:

  headgate block login 203.0.113.7 --ttl 1h --reason 'ticket 4711'
  headgate unblock login 203.0.113.7

Deny nothing any more, with every rule still counting:

  headgate mode shadow`
