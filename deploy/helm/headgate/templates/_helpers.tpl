{{/* The labels of every resource of one component. */}}
{{- define "headgate.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: headgate
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* The security context of every container. */}}
{{- define "headgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The account of the pods. */}}
{{- define "headgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default "headgate" }}
{{- else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{/* How a monitor reads a pod. */}}
{{- define "headgate.endpoint" -}}
port: admin
path: /metrics
interval: {{ .monitor.interval }}
authorization:
  credentials:
    name: {{ .monitor.tokenSecret.name | default .root.Values.secretName }}
    key: {{ .monitor.tokenSecret.key }}
{{- end }}

{{/* headgate.yaml of every node. */}}
{{- define "headgate.config" -}}
node: ""
pop: {{ .Values.pop | quote }}
listen: {udp: ":4290", http: ":4291", admin: ":4292"}
admin_token_file: /etc/headgate-secret/token
memory: {{ .Values.memory | quote }}
state_dir: /var/lib/headgate
ring:
  servers:
{{- if .Values.memcached.servers }}
{{- range .Values.memcached.servers }}
    - {{ . | quote }}
{{- end }}
{{- else }}
{{- range $n := until (int .Values.memcached.replicas) }}
    - memcached-{{ $n }}.memcached:11211
{{- end }}
{{- end }}
gossip:
  bind: ":4293"
  join: {{ concat (list "headgate-gossip:4293") .Values.gossip.join | toJson }}
  key_file: /etc/headgate-secret/cluster.key
rules:
{{ toYaml .Values.rules | indent 2 }}
{{- end }}
