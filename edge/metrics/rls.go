package metrics

import "github.com/headgate-dev/headgate/edge/api"

// rlsFamilies are the families of the limits of the rate limit service.
var rlsFamilies = []family{
	{
		"rls_descriptors", "source",
		"Descriptors with a limit: of rls.files (files) or of rls.xds (xds).",
	},
	{"rls_xds_connected", "", "1 while the management server of rls.xds is connected, else 0."},
	{
		"rls_xds_updates_total", "result",
		"Configurations of the management server, by result: ack (in force), or nack (rejected; " +
			"counted once where it is sent again).",
	},
	{
		"rls_xds_last_update_seconds", "",
		"Unix time at which the last configuration came into force. Absent before the first.",
	},
}

// collectRLS sends the values of v.
func collectRLS(to scrape, v api.RLSView) {
	descriptors := map[string]int{}
	for _, d := range v.Domains {
		descriptors[d.Source] += d.Descriptors
	}
	put(to, "rls_descriptors", descriptors["files"], "files")
	if v.XDS == nil {
		return
	}
	put(to, "rls_descriptors", descriptors["xds"], "xds")
	put(to, "rls_xds_connected", flagOf(v.XDS.Connected))
	put(to, "rls_xds_updates_total", v.XDS.ACKs, "ack")
	put(to, "rls_xds_updates_total", v.XDS.NACKs, "nack")
	if v.XDS.Updated != nil {
		put(to, "rls_xds_last_update_seconds", float64(v.XDS.Updated.UnixMilli())/1e3)
	}
}
