export const tools = ['klamm', 'kcat', 'java', 'python'] as const;
export type Tool = (typeof tools)[number];

export interface FirstCommand {
  step: 'create' | 'send' | 'read';
  text: string;
}

const topic = 'first-steps';

/** Commands to create a topic, send to it and read it, for the cluster at this address. */
export function firstCommands(tool: Tool, address: string): FirstCommand[] {
  const first = address.split(',')[0] ?? address;
  switch (tool) {
    case 'klamm':
      return [
        { step: 'create', text: `klamm topic create ${topic} -b ${address}` },
        { step: 'send', text: `echo 'hello' | klamm produce ${topic} -b ${address}` },
        { step: 'read', text: `klamm consume ${topic} -b ${address}` },
      ];
    case 'kcat':
      return [
        { step: 'send', text: `echo 'hello' | kcat -b ${address} -t ${topic} -P` },
        { step: 'read', text: `kcat -b ${address} -t ${topic} -C -o beginning` },
      ];
    case 'java':
      return [
        { step: 'create', text: `bin/kafka-topics.sh --bootstrap-server ${first} --create --topic ${topic}` },
        { step: 'send', text: `bin/kafka-console-producer.sh --bootstrap-server ${first} --topic ${topic}` },
        {
          step: 'read',
          text: `bin/kafka-console-consumer.sh --bootstrap-server ${first} --topic ${topic} --from-beginning`,
        },
      ];
    case 'python':
      return [
        {
          step: 'send',
          text: [
            'from confluent_kafka import Producer',
            `p = Producer({'bootstrap.servers': '${address}'})`,
            `p.produce('${topic}', value=b'hello')`,
            'p.flush()',
          ].join('\n'),
        },
        {
          step: 'read',
          text: [
            'from confluent_kafka import Consumer',
            `c = Consumer({'bootstrap.servers': '${address}', 'group.id': 'me', 'auto.offset.reset': 'earliest'})`,
            `c.subscribe(['${topic}'])`,
            'while True:',
            '    m = c.poll(1.0)',
            '    if m and not m.error(): print(m.offset(), m.value())',
          ].join('\n'),
        },
      ];
  }
}
