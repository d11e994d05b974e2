package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"klamm/internal/explorer"
)

type topicsInput struct {
	ClusterPath
	Details bool `query:"details" default:"true" doc:"false answers names and partitions only, from one request."`
}

type createTopicInput struct {
	ClusterPath
	Body explorer.TopicCreate
}

func (r *routes) topics() {
	onCluster(r, huma.Operation{
		OperationID: "listTopics", Method: http.MethodGet, Path: "/topics", Tags: []string{"topics"},
		Summary: "List topics", Description: "Offsets, sizes and configurations are asked in bulk, never per topic.",
	}, func(ctx context.Context, c *explorer.Connection, in topicsInput) (explorer.TopicList, error) {
		return c.Topics(ctx, in.Details)
	})
	onCluster(r, huma.Operation{
		OperationID: "createTopic", Method: http.MethodPost, Path: "/topics", Tags: []string{"topics"}, DefaultStatus: http.StatusCreated,
		Summary: "Create a topic", Description: "With validateOnly the broker checks and creates nothing.",
	}, func(ctx context.Context, c *explorer.Connection, in createTopicInput) (explorer.TopicCreated, error) {
		return c.CreateTopic(ctx, in.Body)
	})
	onCluster(r, huma.Operation{
		OperationID: "getTopic", Method: http.MethodGet, Path: "/topics/{topic}", Tags: []string{"topics"},
		Summary: "A topic with partitions and configuration",
	}, func(ctx context.Context, c *explorer.Connection, in TopicPath) (explorer.TopicDetail, error) {
		return c.Topic(ctx, in.Topic)
	})
	onCluster(r, huma.Operation{
		OperationID: "topicImpact", Method: http.MethodGet, Path: "/topics/{topic}/impact", Tags: []string{"topics"},
		Summary: "What deleting a topic takes away", Description: "Records, bytes, last write, groups with offsets in it.",
	}, func(ctx context.Context, c *explorer.Connection, in TopicPath) (explorer.TopicImpact, error) {
		return c.TopicImpact(ctx, in.Topic)
	})
	onCluster(r, huma.Operation{
		OperationID: "deleteTopic", Method: http.MethodDelete, Path: "/topics/{topic}", Tags: []string{"topics"},
		Summary: "Delete a topic",
	}, func(ctx context.Context, c *explorer.Connection, in TopicPath) (nothing, error) {
		return nothing{}, c.DeleteTopic(ctx, in.Topic)
	})
	onCluster(r, huma.Operation{
		OperationID: "topicConsumers", Method: http.MethodGet, Path: "/topics/{topic}/consumers", Tags: []string{"topics"},
		Summary: "Groups that read a topic", Description: "Groups with committed offsets in it or members that have it assigned.",
	}, func(ctx context.Context, c *explorer.Connection, in TopicPath) (explorer.TopicConsumers, error) {
		return c.TopicConsumers(ctx, in.Topic)
	})
}
