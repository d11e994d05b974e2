package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"klamm/internal/explorer"
)

type settingsInput struct{ Body explorer.ClusterSettings }

type settingsOfCluster struct {
	ClusterPath
	Body explorer.ClusterSettings
}

func (r *routes) clusters() {
	call(r, huma.Operation{
		OperationID: "info", Method: http.MethodGet, Path: "/info", Tags: []string{"clusters"},
		Summary: "What this Klamm is", Description: "Version, and the id of the cluster running in this process.",
	}, func(context.Context, *struct{}) (explorer.Info, error) { return r.ex.Info(), nil })
	call(r, huma.Operation{
		OperationID: "listClusters", Method: http.MethodGet, Path: "/clusters", Tags: []string{"clusters"},
		Summary: "List the saved clusters", Description: "Answers from memory: no cluster is contacted, so a dead one cannot hold it up. Health is what the last contact showed.",
	}, func(context.Context, *struct{}) (explorer.ClusterList, error) { return r.ex.Clusters(), nil })
	call(r, huma.Operation{
		OperationID: "addCluster", Method: http.MethodPost, Path: "/clusters", Tags: []string{"clusters"}, DefaultStatus: http.StatusCreated,
		Summary: "Save a cluster", Description: "Saves without connecting; the id is made from the name.",
	}, func(_ context.Context, in *settingsInput) (explorer.Cluster, error) { return r.ex.AddCluster(in.Body) })
	call(r, huma.Operation{
		OperationID: "updateCluster", Method: http.MethodPut, Path: "/clusters/{cluster}", Tags: []string{"clusters"},
		Summary: "Change a saved cluster", Description: "The id stays. A secret sent as ******** keeps its stored value.",
	}, func(_ context.Context, in *settingsOfCluster) (explorer.Cluster, error) {
		return r.ex.UpdateCluster(in.Cluster, in.Body)
	})
	call(r, huma.Operation{
		OperationID: "deleteCluster", Method: http.MethodDelete, Path: "/clusters/{cluster}", Tags: []string{"clusters"},
		Summary: "Forget a saved cluster", Description: "The cluster itself is not touched.",
	}, func(_ context.Context, in *ClusterPath) (nothing, error) {
		return nothing{}, r.ex.DeleteCluster(in.Cluster)
	})
	call(r, huma.Operation{
		OperationID: "testSettings", Method: http.MethodPost, Path: "/clusters/test", Tags: []string{"clusters"},
		Summary: "Test a connection before saving it", Description: "Climbs the ladder resolve, connect, TLS, SASL, ApiVersions, metadata, every advertised address. Takes 10 s at most; a failed rung is a 200 answer that says so.",
	}, func(ctx context.Context, in *settingsInput) (explorer.TestReport, error) {
		return r.ex.TestSettings(ctx, in.Body)
	})
	call(r, huma.Operation{
		OperationID: "testCluster", Method: http.MethodPost, Path: "/clusters/{cluster}/test", Tags: []string{"clusters"},
		Summary: "Test a saved connection", Description: "As testSettings.",
	}, func(ctx context.Context, in *ClusterPath) (explorer.TestReport, error) {
		return r.ex.TestCluster(ctx, in.Cluster)
	})
	onCluster(r, huma.Operation{
		OperationID: "overview", Method: http.MethodGet, Path: "", Tags: []string{"clusters"},
		Summary: "A cluster at a glance", Description: "Brokers, controller (from DescribeQuorum, else unknown), counts, product guess.",
	}, func(ctx context.Context, c *explorer.Connection, _ ClusterPath) (explorer.Overview, error) {
		return c.Overview(ctx)
	})
	onCluster(r, huma.Operation{
		OperationID: "listBrokers", Method: http.MethodGet, Path: "/brokers", Tags: []string{"clusters"},
		Summary: "Brokers with their log directories", Description: "A broker whose log directories cannot be described is named in problems.",
	}, func(ctx context.Context, c *explorer.Connection, _ ClusterPath) (explorer.BrokerList, error) {
		return c.Brokers(ctx)
	})
}
