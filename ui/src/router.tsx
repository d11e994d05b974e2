import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router';
import { prefix } from './components/A';
import { Loading } from './components/State';
import { Shell } from './components/shell/Shell';
import { decodeName, paths } from './lib/paths';
import { parseSearch, stringifySearch } from './lib/search';
import { BrokersPage } from './pages/Brokers';
import { ClusterFormPage } from './pages/ClusterForm';
import { ClustersPage } from './pages/Clusters';
import { GroupPage } from './pages/Group';
import { GroupsPage } from './pages/Groups';
import { HomePage } from './pages/Home';
import { NotFoundPage } from './pages/NotFound';
import { TopicPage } from './pages/Topic';
import { TopicsPage } from './pages/Topics';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFoundPage });

const route = (path: string, component: () => React.ReactNode) =>
  createRoute({ getParentRoute: () => root, path, component });

const forward = (path: string, to: (params: Record<string, string>) => string) =>
  createRoute({
    getParentRoute: () => root,
    path,
    beforeLoad: ({ params }) => {
      throw redirect({ href: prefix() + to(params as Record<string, string>), replace: true });
    },
  });

const tree = root.addChildren([
  route('/', HomePage),
  route('/clusters', ClustersPage),
  route('/new-cluster', ClusterFormPage),
  forward('/clusters/$cluster', (p) => paths.topics(decodeName(p.cluster ?? ''))),
  route('/clusters/$cluster/edit', ClusterFormPage),
  route('/clusters/$cluster/topics', TopicsPage),
  forward('/clusters/$cluster/topics/$topic', (p) =>
    paths.topic(decodeName(p.cluster ?? ''), decodeName(p.topic ?? '')),
  ),
  route('/clusters/$cluster/topics/$topic/$tab', TopicPage),
  route('/clusters/$cluster/groups', GroupsPage),
  route('/clusters/$cluster/groups/$group', GroupPage),
  route('/clusters/$cluster/brokers', BrokersPage),
]);

export function makeRouter() {
  return createRouter({
    routeTree: tree,
    basepath: prefix() || '/',
    parseSearch,
    stringifySearch,
    trailingSlash: 'never',
    defaultPendingComponent: Loading,
    defaultNotFoundComponent: NotFoundPage,
    scrollRestoration: false,
  });
}
