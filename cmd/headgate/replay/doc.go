// Package replay is `headgate replay`: the command judges the requests of access logs as a node
// would have, at the time of the logs.
package replay
