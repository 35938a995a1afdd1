// Package ringtest stands in for memcached where a real one is not at hand or cannot show a fault.
package ringtest
