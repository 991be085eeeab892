{{/* Flags that the Deployment sets, and the chart's value for each flag. The server accepts a flag only once. */}}
{{- define "vitrine.flags" -}}
--repository: models
--repository-cache: models.remote
--repository-cache-bytes: models.remoteBytes
--listen: ""
--metrics: ""
--health-listen: ""
--serving-config: serving
--lame-duck: shutdown.lameDuckSeconds
--drain-deadline: shutdown.drainSeconds
--log-format: ""
--tls-cert: identity.tlsSecret
--tls-key: identity.tlsSecret
--tls-client-ca: identity.clientCaSecret
--tls-client-cert: identity.clientCaSecret
--tokens: identity.tokensSecret
--policy: identity.policy
--device: gpu
{{- end }}

{{/* Rejects combinations of values for which a schema cannot give a useful error. */}}
{{- define "vitrine.check" -}}
{{- $v := .Values }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" .Release.Name) }}
{{- fail (printf "the release is called %s, but Services have its name: it must begin with a letter and have only a-z, 0-9 and -" .Release.Name) }}
{{- end }}
{{- $flags := include "vitrine.flags" . | fromYaml }}
{{- range $v.args }}
{{- $flag := splitList "=" . | first }}
{{- if hasKey $flags $flag }}
{{- fail (printf "args must not have %s: %s" $flag (get $flags $flag | empty | ternary "the chart sets it" (printf "set %s" (get $flags $flag)))) }}
{{- end }}
{{- end }}
{{- if not $v.image.repository }}
{{- fail "image.repository must be set: the image of the server in your registry, without tag" }}
{{- end }}
{{- $sources := len (compact (list $v.models.image $v.models.claim $v.models.remote)) }}
{{- if eq $sources 0 }}
{{- fail "models.image or models.claim or models.remote must be set: where the repository is" }}
{{- end }}
{{- if gt $sources 1 }}
{{- fail "models.image and models.claim and models.remote exclude each other: set one of them" }}
{{- end }}
{{- if and $v.models.remoteSecret (not $v.models.remote) }}
{{- fail "models.remoteSecret needs models.remote: it holds the credentials for it" }}
{{- end }}
{{- if and $v.models.image (semverCompare "<1.33.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "models.image needs Kubernetes 1.35, or 1.33 with the feature gate ImageVolume, got %s: use models.claim. If that is not the cluster's version, because helm does not ask the cluster: --kube-version" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and $v.identity.tokensSecret (not $v.identity.tlsSecret) }}
{{- fail "identity.tokensSecret needs identity.tlsSecret: tokens must not travel unencrypted" }}
{{- end }}
{{- if and $v.identity.clientCaSecret (not $v.identity.tlsSecret) }}
{{- fail "identity.clientCaSecret needs identity.tlsSecret: only TLS carries certificates" }}
{{- end }}
{{- if and $v.identity.policy (not (or $v.identity.tokensSecret $v.identity.clientCaSecret)) }}
{{- fail "identity.policy needs identity.tokensSecret or identity.clientCaSecret: the policy names their callers" }}
{{- end }}
{{- if gt (int $v.autoscaling.min) (int $v.autoscaling.max) }}
{{- fail (printf "autoscaling.min must be at most autoscaling.max, got %v and %v" $v.autoscaling.min $v.autoscaling.max) }}
{{- end }}
{{- if and (or $v.ingress.enabled (eq $v.autoscaling.mode "keda")) (not $v.hosts) }}
{{- fail "hosts must name at least one host for ingress.enabled and for autoscaling.mode=keda" }}
{{- end }}
{{- if and $v.gateway.name (not $v.hosts) (not $v.gateway.grpcHosts) }}
{{- fail "gateway.name needs hosts or gateway.grpcHosts: without a name there is no route" }}
{{- end }}
{{- if and (or $v.gateway.grpcHosts $v.gateway.canary.service) (not $v.gateway.name) }}
{{- fail "gateway.grpcHosts and gateway.canary.service need gateway.name: only routes use them" }}
{{- end }}
{{- range $v.gateway.grpcHosts }}
{{- if has . $v.hosts }}
{{- fail (printf "%s is in hosts and gateway.grpcHosts: a Gateway accepts one kind of route for a name" .) }}
{{- end }}
{{- end }}
{{- if eq $v.gateway.canary.service .Release.Name }}
{{- fail "gateway.canary.service must name the Service of another release" }}
{{- end }}
{{- if and $v.hosts (not (or $v.ingress.enabled $v.gateway.name (eq $v.autoscaling.mode "keda"))) }}
{{- fail "hosts needs ingress.enabled, gateway.name or autoscaling.mode=keda: nothing else uses it" }}
{{- end }}
{{- if and (eq $v.autoscaling.mode "keda") $v.identity.tlsSecret }}
{{- fail "autoscaling.mode=keda excludes identity.tlsSecret: the interceptor connects to the servers without TLS" }}
{{- end }}
{{- if and (eq $v.autoscaling.mode "keda") (or $v.ingress.enabled $v.gateway.name) }}
{{- fail "autoscaling.mode=keda excludes ingress.enabled and gateway.name: their requests would go around the interceptor, which wakes the servers; route to the interceptor's Service" }}
{{- end }}
{{- if and $v.networkPolicy.enabled (not $v.networkPolicy.from) (or $v.ingress.enabled $v.gateway.name (eq $v.autoscaling.mode "keda")) }}
{{- fail "networkPolicy.from must name the pods of the Ingress controller, Gateway or interceptor, whose connections the policy blocks otherwise; or set networkPolicy.enabled=false" }}
{{- end }}
{{- end }}
