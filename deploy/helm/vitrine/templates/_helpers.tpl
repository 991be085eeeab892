{{/* Objects are called RELEASE-server and so on: the release "vitrine" has the names of the kustomizations. */}}
{{- define "vitrine.server" -}}
{{ .Release.Name }}-server
{{- end }}

{{/* The label of the release separates two releases in one namespace, such as a canary. */}}
{{- define "vitrine.selector" -}}
app.kubernetes.io/name: vitrine
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: server
{{- end }}

{{/* Labels of every object except the headless Service. */}}
{{- define "vitrine.labels" -}}
{{ include "vitrine.selector" . }}
{{ include "vitrine.commonLabels" . }}
{{- end }}

{{- define "vitrine.commonLabels" -}}
app.kubernetes.io/part-of: vitrine
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- end }}

{{- define "vitrine.metadata" -}}
name: {{ .name | quote }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "vitrine.labels" .root | nindent 2 }}
{{- end }}

{{/* Metrics and pace of the autoscaler, from the file of the kustomizations. */}}
{{- define "vitrine.autoscaler" -}}
{{ include "vitrine.file" (dict "root" . "name" "autoscaler.yaml") }}
{{- end }}

{{/* Content of a file of the folder `files`. In the checkout these files are links, which Flux and Windows leave out. */}}
{{- define "vitrine.file" -}}
{{ .root.Files.Get (printf "files/%s" .name) | required (printf "the chart lacks files/%s, a link in the checkout; use the archive of script/release or helm package" .name) }}
{{- end }}

{{/* The access policy; empty if no caller can prove who it is. */}}
{{- define "vitrine.policy" -}}
{{- with .Values.identity }}
{{- if .policy }}
{{- .policy }}
{{- else if .tokensSecret }}
{{- include "vitrine.file" (dict "root" $ "name" "policy.textproto") }}
{{- end }}
{{- end }}
{{- end }}
