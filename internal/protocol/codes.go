package protocol

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Kafka's error codes.
const (
	CodeNone                                   int16 = 0
	CodeUnknownServerError                     int16 = -1  // UNKNOWN_SERVER_ERROR
	CodeOffsetOutOfRange                       int16 = 1   // OFFSET_OUT_OF_RANGE
	CodeCorruptMessage                         int16 = 2   // CORRUPT_MESSAGE
	CodeUnknownTopicOrPartition                int16 = 3   // UNKNOWN_TOPIC_OR_PARTITION
	CodeInvalidFetchSize                       int16 = 4   // INVALID_FETCH_SIZE
	CodeLeaderNotAvailable                     int16 = 5   // LEADER_NOT_AVAILABLE
	CodeNotLeaderOrFollower                    int16 = 6   // NOT_LEADER_OR_FOLLOWER
	CodeRequestTimedOut                        int16 = 7   // REQUEST_TIMED_OUT
	CodeBrokerNotAvailable                     int16 = 8   // BROKER_NOT_AVAILABLE
	CodeReplicaNotAvailable                    int16 = 9   // REPLICA_NOT_AVAILABLE
	CodeMessageTooLarge                        int16 = 10  // MESSAGE_TOO_LARGE
	CodeStaleControllerEpoch                   int16 = 11  // STALE_CONTROLLER_EPOCH
	CodeOffsetMetadataTooLarge                 int16 = 12  // OFFSET_METADATA_TOO_LARGE
	CodeNetworkException                       int16 = 13  // NETWORK_EXCEPTION
	CodeCoordinatorLoadInProgress              int16 = 14  // COORDINATOR_LOAD_IN_PROGRESS
	CodeCoordinatorNotAvailable                int16 = 15  // COORDINATOR_NOT_AVAILABLE
	CodeNotCoordinator                         int16 = 16  // NOT_COORDINATOR
	CodeInvalidTopicException                  int16 = 17  // INVALID_TOPIC_EXCEPTION
	CodeRecordListTooLarge                     int16 = 18  // RECORD_LIST_TOO_LARGE
	CodeNotEnoughReplicas                      int16 = 19  // NOT_ENOUGH_REPLICAS
	CodeNotEnoughReplicasAfterAppend           int16 = 20  // NOT_ENOUGH_REPLICAS_AFTER_APPEND
	CodeInvalidRequiredAcks                    int16 = 21  // INVALID_REQUIRED_ACKS
	CodeIllegalGeneration                      int16 = 22  // ILLEGAL_GENERATION
	CodeInconsistentGroupProtocol              int16 = 23  // INCONSISTENT_GROUP_PROTOCOL
	CodeInvalidGroupID                         int16 = 24  // INVALID_GROUP_ID
	CodeUnknownMemberID                        int16 = 25  // UNKNOWN_MEMBER_ID
	CodeInvalidSessionTimeout                  int16 = 26  // INVALID_SESSION_TIMEOUT
	CodeRebalanceInProgress                    int16 = 27  // REBALANCE_IN_PROGRESS
	CodeInvalidCommitOffsetSize                int16 = 28  // INVALID_COMMIT_OFFSET_SIZE
	CodeTopicAuthorizationFailed               int16 = 29  // TOPIC_AUTHORIZATION_FAILED
	CodeGroupAuthorizationFailed               int16 = 30  // GROUP_AUTHORIZATION_FAILED
	CodeClusterAuthorizationFailed             int16 = 31  // CLUSTER_AUTHORIZATION_FAILED
	CodeInvalidTimestamp                       int16 = 32  // INVALID_TIMESTAMP
	CodeUnsupportedSASLMechanism               int16 = 33  // UNSUPPORTED_SASL_MECHANISM
	CodeIllegalSASLState                       int16 = 34  // ILLEGAL_SASL_STATE
	CodeUnsupportedVersion                     int16 = 35  // UNSUPPORTED_VERSION
	CodeTopicAlreadyExists                     int16 = 36  // TOPIC_ALREADY_EXISTS
	CodeInvalidPartitions                      int16 = 37  // INVALID_PARTITIONS
	CodeInvalidReplicationFactor               int16 = 38  // INVALID_REPLICATION_FACTOR
	CodeInvalidReplicaAssignment               int16 = 39  // INVALID_REPLICA_ASSIGNMENT
	CodeInvalidConfig                          int16 = 40  // INVALID_CONFIG
	CodeNotController                          int16 = 41  // NOT_CONTROLLER
	CodeInvalidRequest                         int16 = 42  // INVALID_REQUEST
	CodeUnsupportedForMessageFormat            int16 = 43  // UNSUPPORTED_FOR_MESSAGE_FORMAT
	CodePolicyViolation                        int16 = 44  // POLICY_VIOLATION
	CodeOutOfOrderSequenceNumber               int16 = 45  // OUT_OF_ORDER_SEQUENCE_NUMBER
	CodeDuplicateSequenceNumber                int16 = 46  // DUPLICATE_SEQUENCE_NUMBER
	CodeInvalidProducerEpoch                   int16 = 47  // INVALID_PRODUCER_EPOCH
	CodeInvalidTxnState                        int16 = 48  // INVALID_TXN_STATE
	CodeInvalidProducerIDMapping               int16 = 49  // INVALID_PRODUCER_ID_MAPPING
	CodeInvalidTransactionTimeout              int16 = 50  // INVALID_TRANSACTION_TIMEOUT
	CodeConcurrentTransactions                 int16 = 51  // CONCURRENT_TRANSACTIONS
	CodeTransactionCoordinatorFenced           int16 = 52  // TRANSACTION_COORDINATOR_FENCED
	CodeTransactionalIDAuthorizationFailed     int16 = 53  // TRANSACTIONAL_ID_AUTHORIZATION_FAILED
	CodeSecurityDisabled                       int16 = 54  // SECURITY_DISABLED
	CodeOperationNotAttempted                  int16 = 55  // OPERATION_NOT_ATTEMPTED
	CodeKafkaStorageError                      int16 = 56  // KAFKA_STORAGE_ERROR
	CodeLogDirNotFound                         int16 = 57  // LOG_DIR_NOT_FOUND
	CodeSASLAuthenticationFailed               int16 = 58  // SASL_AUTHENTICATION_FAILED
	CodeUnknownProducerID                      int16 = 59  // UNKNOWN_PRODUCER_ID
	CodeReassignmentInProgress                 int16 = 60  // REASSIGNMENT_IN_PROGRESS
	CodeDelegationTokenAuthDisabled            int16 = 61  // DELEGATION_TOKEN_AUTH_DISABLED
	CodeDelegationTokenNotFound                int16 = 62  // DELEGATION_TOKEN_NOT_FOUND
	CodeDelegationTokenOwnerMismatch           int16 = 63  // DELEGATION_TOKEN_OWNER_MISMATCH
	CodeDelegationTokenRequestNotAllowed       int16 = 64  // DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
	CodeDelegationTokenAuthorizationFailed     int16 = 65  // DELEGATION_TOKEN_AUTHORIZATION_FAILED
	CodeDelegationTokenExpired                 int16 = 66  // DELEGATION_TOKEN_EXPIRED
	CodeInvalidPrincipalType                   int16 = 67  // INVALID_PRINCIPAL_TYPE
	CodeNonEmptyGroup                          int16 = 68  // NON_EMPTY_GROUP
	CodeGroupIDNotFound                        int16 = 69  // GROUP_ID_NOT_FOUND
	CodeFetchSessionIDNotFound                 int16 = 70  // FETCH_SESSION_ID_NOT_FOUND
	CodeInvalidFetchSessionEpoch               int16 = 71  // INVALID_FETCH_SESSION_EPOCH
	CodeListenerNotFound                       int16 = 72  // LISTENER_NOT_FOUND
	CodeTopicDeletionDisabled                  int16 = 73  // TOPIC_DELETION_DISABLED
	CodeFencedLeaderEpoch                      int16 = 74  // FENCED_LEADER_EPOCH
	CodeUnknownLeaderEpoch                     int16 = 75  // UNKNOWN_LEADER_EPOCH
	CodeUnsupportedCompressionType             int16 = 76  // UNSUPPORTED_COMPRESSION_TYPE
	CodeStaleBrokerEpoch                       int16 = 77  // STALE_BROKER_EPOCH
	CodeOffsetNotAvailable                     int16 = 78  // OFFSET_NOT_AVAILABLE
	CodeMemberIDRequired                       int16 = 79  // MEMBER_ID_REQUIRED
	CodePreferredLeaderNotAvailable            int16 = 80  // PREFERRED_LEADER_NOT_AVAILABLE
	CodeGroupMaxSizeReached                    int16 = 81  // GROUP_MAX_SIZE_REACHED
	CodeFencedInstanceID                       int16 = 82  // FENCED_INSTANCE_ID
	CodeEligibleLeadersNotAvailable            int16 = 83  // ELIGIBLE_LEADERS_NOT_AVAILABLE
	CodeElectionNotNeeded                      int16 = 84  // ELECTION_NOT_NEEDED
	CodeNoReassignmentInProgress               int16 = 85  // NO_REASSIGNMENT_IN_PROGRESS
	CodeGroupSubscribedToTopic                 int16 = 86  // GROUP_SUBSCRIBED_TO_TOPIC
	CodeInvalidRecord                          int16 = 87  // INVALID_RECORD
	CodeUnstableOffsetCommit                   int16 = 88  // UNSTABLE_OFFSET_COMMIT
	CodeThrottlingQuotaExceeded                int16 = 89  // THROTTLING_QUOTA_EXCEEDED
	CodeProducerFenced                         int16 = 90  // PRODUCER_FENCED
	CodeResourceNotFound                       int16 = 91  // RESOURCE_NOT_FOUND
	CodeDuplicateResource                      int16 = 92  // DUPLICATE_RESOURCE
	CodeUnacceptableCredential                 int16 = 93  // UNACCEPTABLE_CREDENTIAL
	CodeInconsistentVoterSet                   int16 = 94  // INCONSISTENT_VOTER_SET
	CodeInvalidUpdateVersion                   int16 = 95  // INVALID_UPDATE_VERSION
	CodeFeatureUpdateFailed                    int16 = 96  // FEATURE_UPDATE_FAILED
	CodePrincipalDeserializationFailure        int16 = 97  // PRINCIPAL_DESERIALIZATION_FAILURE
	CodeSnapshotNotFound                       int16 = 98  // SNAPSHOT_NOT_FOUND
	CodePositionOutOfRange                     int16 = 99  // POSITION_OUT_OF_RANGE
	CodeUnknownTopicID                         int16 = 100 // UNKNOWN_TOPIC_ID
	CodeDuplicateBrokerRegistration            int16 = 101 // DUPLICATE_BROKER_REGISTRATION
	CodeBrokerIDNotRegistered                  int16 = 102 // BROKER_ID_NOT_REGISTERED
	CodeInconsistentTopicID                    int16 = 103 // INCONSISTENT_TOPIC_ID
	CodeInconsistentClusterID                  int16 = 104 // INCONSISTENT_CLUSTER_ID
	CodeTransactionalIDNotFound                int16 = 105 // TRANSACTIONAL_ID_NOT_FOUND
	CodeFetchSessionTopicIDError               int16 = 106 // FETCH_SESSION_TOPIC_ID_ERROR
	CodeIneligibleReplica                      int16 = 107 // INELIGIBLE_REPLICA
	CodeNewLeaderElected                       int16 = 108 // NEW_LEADER_ELECTED
	CodeOffsetMovedToTieredStorage             int16 = 109 // OFFSET_MOVED_TO_TIERED_STORAGE
	CodeFencedMemberEpoch                      int16 = 110 // FENCED_MEMBER_EPOCH
	CodeUnreleasedInstanceID                   int16 = 111 // UNRELEASED_INSTANCE_ID
	CodeUnsupportedAssignor                    int16 = 112 // UNSUPPORTED_ASSIGNOR
	CodeStaleMemberEpoch                       int16 = 113 // STALE_MEMBER_EPOCH
	CodeMismatchedEndpointType                 int16 = 114 // MISMATCHED_ENDPOINT_TYPE
	CodeUnsupportedEndpointType                int16 = 115 // UNSUPPORTED_ENDPOINT_TYPE
	CodeUnknownControllerID                    int16 = 116 // UNKNOWN_CONTROLLER_ID
	CodeUnknownSubscriptionID                  int16 = 117 // UNKNOWN_SUBSCRIPTION_ID
	CodeTelemetryTooLarge                      int16 = 118 // TELEMETRY_TOO_LARGE
	CodeInvalidRegistration                    int16 = 119 // INVALID_REGISTRATION
	CodeTransactionAbortable                   int16 = 120 // TRANSACTION_ABORTABLE
	CodeInvalidRecordState                     int16 = 121 // INVALID_RECORD_STATE
	CodeShareSessionNotFound                   int16 = 122 // SHARE_SESSION_NOT_FOUND
	CodeInvalidShareSessionEpoch               int16 = 123 // INVALID_SHARE_SESSION_EPOCH
	CodeFencedStateEpoch                       int16 = 124 // FENCED_STATE_EPOCH
	CodeInvalidVoterKey                        int16 = 125 // INVALID_VOTER_KEY
	CodeDuplicateVoter                         int16 = 126 // DUPLICATE_VOTER
	CodeVoterNotFound                          int16 = 127 // VOTER_NOT_FOUND
	CodeInvalidRegularExpression               int16 = 128 // INVALID_REGULAR_EXPRESSION
	CodeRebootstrapRequired                    int16 = 129 // REBOOTSTRAP_REQUIRED
	CodeStreamsInvalidTopology                 int16 = 130 // STREAMS_INVALID_TOPOLOGY
	CodeStreamsInvalidTopologyEpoch            int16 = 131 // STREAMS_INVALID_TOPOLOGY_EPOCH
	CodeStreamsTopologyFenced                  int16 = 132 // STREAMS_TOPOLOGY_FENCED
	CodeShareSessionLimitReached               int16 = 133 // SHARE_SESSION_LIMIT_REACHED
	CodeGroupDeletionFailed                    int16 = 134 // GROUP_DELETION_FAILED
	CodeStreamsTopologyDescriptionUpdateFailed int16 = 135 // STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED
	CodeControllerIDNotRegistered              int16 = 136 // CONTROLLER_ID_NOT_REGISTERED
)

// CodeOf is the error code that tells a client about err: 0 for nil, what the error (or one it
// wraps) says through KafkaCode, the code of a kerr error, REQUEST_TIMED_OUT for an exceeded
// deadline, else UNKNOWN_SERVER_ERROR.
func CodeOf(err error) int16 {
	if err == nil {
		return CodeNone
	}
	var coded interface{ KafkaCode() int16 }
	if errors.As(err, &coded) {
		return coded.KafkaCode()
	}
	var kafka *kerr.Error
	if errors.As(err, &kafka) {
		return kafka.Code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return CodeRequestTimedOut
	}
	return CodeUnknownServerError
}

// CodeError is an error that carries the code for the client and words for a person.
type CodeError struct {
	Code    int16
	Message string
}

func (e *CodeError) Error() string { return e.Message }

// KafkaCode is the error code for the client.
func (e *CodeError) KafkaCode() int16 { return e.Code }

// CodeName is Kafka's name of an error code, such as NOT_LEADER_OR_FOLLOWER.
func CodeName(code int16) string {
	switch code {
	case CodeNone:
		return "NONE"
	case CodeNotLeaderOrFollower: // kerr keeps the name it had before KIP-392
		return "NOT_LEADER_OR_FOLLOWER"
	}
	var kafka *kerr.Error
	if errors.As(kerr.ErrorForCode(code), &kafka) {
		return kafka.Message
	}
	return "UNKNOWN_SERVER_ERROR"
}
