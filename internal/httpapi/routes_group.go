package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"klamm/internal/explorer"
)

func (r *routes) groups() {
	onCluster(r, huma.Operation{
		OperationID: "listGroups", Method: http.MethodGet, Path: "/groups", Tags: []string{"groups"},
		Summary: "List groups with lag", Description: "Described and measured in bulk per coordinator, never per group.",
	}, func(ctx context.Context, c *explorer.Connection, _ ClusterPath) (explorer.GroupList, error) {
		return c.Groups(ctx)
	})
	onCluster(r, huma.Operation{
		OperationID: "getGroup", Method: http.MethodGet, Path: "/groups/{group}", Tags: []string{"groups"},
		Summary: "A group with members and lag per partition",
	}, func(ctx context.Context, c *explorer.Connection, in GroupPath) (explorer.GroupDetail, error) {
		return c.Group(ctx, in.Group)
	})
	onCluster(r, huma.Operation{
		OperationID: "deleteGroup", Method: http.MethodDelete, Path: "/groups/{group}", Tags: []string{"groups"},
		Summary: "Delete a group and its offsets", Description: "Refused by the broker while the group has members.",
	}, func(ctx context.Context, c *explorer.Connection, in GroupPath) (nothing, error) {
		return nothing{}, c.DeleteGroup(ctx, in.Group)
	})
}
