// Package replay is `headgate replay`: the requests are judged of access logs as a node would have,
// at the time of the logs.
package replay
