package explorer

import "context"

func (e *Explorer) Clusters() ClusterList { return ClusterList{} }
func (e *Explorer) AddCluster(s ClusterSettings) (Cluster, error) { return Cluster{}, nil }
func (e *Explorer) UpdateCluster(id string, s ClusterSettings) (Cluster, error) { return Cluster{}, nil }
func (e *Explorer) DeleteCluster(id string) error { return nil }
func (e *Explorer) TestSettings(ctx context.Context, s ClusterSettings) (TestReport, error) { return TestReport{}, nil }
func (e *Explorer) TestCluster(ctx context.Context, id string) (TestReport, error) { return TestReport{}, nil }
func (e *Explorer) Connection(id string) (*Connection, error) { return nil, nil }
func (e *Explorer) Info() Info { return Info{} }

type Explorer struct{}
type Connection struct{}

func (c *Connection) Overview(ctx context.Context) (Overview, error) { return Overview{}, nil }
func (c *Connection) Brokers(ctx context.Context) (BrokerList, error) { return BrokerList{}, nil }
func (c *Connection) Topics(ctx context.Context, details bool) (TopicList, error) { return TopicList{}, nil }
func (c *Connection) CreateTopic(ctx context.Context, t TopicCreate) (TopicCreated, error) { return TopicCreated{}, nil }
func (c *Connection) DeleteTopic(ctx context.Context, topic string) error { return nil }
func (c *Connection) TopicImpact(ctx context.Context, topic string) (TopicImpact, error) { return TopicImpact{}, nil }
func (c *Connection) Topic(ctx context.Context, topic string) (TopicDetail, error) { return TopicDetail{}, nil }
func (c *Connection) TopicConsumers(ctx context.Context, topic string) (TopicConsumers, error) { return TopicConsumers{}, nil }
func (c *Connection) Scan(ctx context.Context, r ScanRequest, s Sink) error { return nil }
func (c *Connection) Record(ctx context.Context, at RecordAddress) (RecordDetail, error) { return RecordDetail{}, nil }
func (c *Connection) RecordSlice(ctx context.Context, at RecordAddress, r SliceRequest) (Slice, error) { return Slice{}, nil }
func (c *Connection) RecordBytes(ctx context.Context, at RecordAddress, part Part) ([]byte, error) { return nil, nil }
func (c *Connection) Send(ctx context.Context, topic string, r SendRequest) (SendResult, error) { return SendResult{}, nil }
func (c *Connection) Groups(ctx context.Context) (GroupList, error) { return GroupList{}, nil }
func (c *Connection) Group(ctx context.Context, group string) (GroupDetail, error) { return GroupDetail{}, nil }
func (c *Connection) DeleteGroup(ctx context.Context, group string) error { return nil }
func ParseCursor(s string) (*Cursor, error) { return nil, nil }
type Cursor struct{}
