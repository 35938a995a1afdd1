// Package setup holds the commands to prepare a daemon: init prints the configuration of proxies,
// config check checks headgate's, import makes headgate's of another program's.
package setup
