// Package setup holds the commands that prepare a daemon: init prints the configuration of proxies, config check that of headgate.
package setup
