{{/* Objects are called RELEASE-server and so on. For the release "vitrine", these are the names in deploy/kubernetes. */}}
{{- define "vitrine.server" -}}
{{ .Release.Name }}-server
{{- end }}

{{/* Selector of the pods. Its label with the release separates the releases of one namespace, such as a canary. */}}
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

{{/* Metrics and speed of the autoscaler, from the file in deploy/kubernetes. */}}
{{- define "vitrine.autoscaler" -}}
{{ include "vitrine.file" (dict "root" . "name" "autoscaler.yaml") }}
{{- end }}

{{/* Content of a file of the folder `files`. In a checkout, these files are symbolic links, which Flux and Windows leave out. */}}
{{- define "vitrine.file" -}}
{{ .root.Files.Get (printf "files/%s" .name) | required (printf "the chart lacks files/%s, a link in the checkout; use the archive of script/release or helm package" .name) }}
{{- end }}

{{/* The access policy: identity.policy if it is not empty, else the default policy if there are tokens, else empty. */}}
{{- define "vitrine.policy" -}}
{{- with .Values.identity }}
{{- if .policy }}
{{- .policy }}
{{- else if .tokensSecret }}
{{- include "vitrine.file" (dict "root" $ "name" "policy.textproto") }}
{{- end }}
{{- end }}
{{- end }}
